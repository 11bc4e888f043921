// A collection whose ids the server chooses as a Rust programmer writes it: axum, serde, rusqlite, one thread that
// commits all changes that have arrived in one transaction, with a row of history for each, and one that reads. Serves
// on 127.0.0.1 until SIGTERM.

use std::env;
use std::error::Error;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, Query, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

const BATCH_CHANGES_MAX: usize = 1_000;

/// The longest name and tag, in characters.
const LENGTH_MAX: usize = 100;

#[derive(Deserialize)]
struct NewPlant {
    name: String,
    tag: Option<String>,
}

#[derive(Deserialize)]
struct Members {
    name: Option<String>,
    tag: Option<String>,
}

#[derive(Serialize)]
struct Plant {
    id: i64,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<String>,
}

#[derive(Deserialize)]
struct PageQuery {
    limit: Option<u32>,
    after: Option<i64>,
}

#[derive(Serialize)]
struct ApiError {
    error: u32,
    message: String,
}

enum Change {
    Create(NewPlant),
    Replace(i64, NewPlant),
    Patch(i64, Members),
    Delete(i64),
}

/// A change for the writing thread, which returns the plant as it is after it, or was before its deletion.
type Write = (Change, oneshot::Sender<Option<Plant>>);

/// What the reading thread reads, and the JSON that it returns.
enum Read {
    One(i64, oneshot::Sender<Option<String>>),
    Page { after: i64, limit: u32, response: oneshot::Sender<Option<String>> },
}

#[derive(Clone)]
struct Store {
    writes: Sender<Write>,
    reads: Sender<Read>,
}

impl Store {
    async fn write(&self, change: Change, status: StatusCode) -> Response {
        let (sender, outcome) = oneshot::channel();
        if self.writes.send((change, sender)).is_err() {
            return error(StatusCode::SERVICE_UNAVAILABLE, 50300, "The store is closed".into());
        }
        match outcome.await {
            Ok(Some(_)) if status == StatusCode::NO_CONTENT => status.into_response(),
            Ok(Some(plant)) => (status, Json(plant)).into_response(),
            Ok(None) => not_found(),
            Err(_) => error(StatusCode::SERVICE_UNAVAILABLE, 50300, "The change may not be stored".into()),
        }
    }

    async fn read(&self, read: Read, outcome: oneshot::Receiver<Option<String>>) -> Response {
        if self.reads.send(read).is_err() {
            return error(StatusCode::SERVICE_UNAVAILABLE, 50300, "The store is closed".into());
        }
        match outcome.await {
            Ok(Some(json)) => ([(header::CONTENT_TYPE, "application/json")], json).into_response(),
            Ok(None) => not_found(),
            Err(_) => error(StatusCode::SERVICE_UNAVAILABLE, 50300, "The store cannot be read".into()),
        }
    }
}

async fn create(State(store): State<Store>, body: Result<Json<NewPlant>, JsonRejection>) -> Response {
    match checked(body) {
        Ok(plant) => store.write(Change::Create(plant), StatusCode::CREATED).await,
        Err(response) => response,
    }
}

async fn replace(
    State(store): State<Store>,
    Path(id): Path<i64>,
    body: Result<Json<NewPlant>, JsonRejection>,
) -> Response {
    match checked(body) {
        Ok(plant) => store.write(Change::Replace(id, plant), StatusCode::OK).await,
        Err(response) => response,
    }
}

async fn patch(
    State(store): State<Store>,
    Path(id): Path<i64>,
    body: Result<Json<Members>, JsonRejection>,
) -> Response {
    let members = match body {
        Ok(Json(members)) => members,
        Err(rejection) => return error(StatusCode::BAD_REQUEST, 40002, rejection.body_text()),
    };
    if !are_fit(members.name.as_deref(), members.tag.as_deref()) {
        return unfit();
    }
    store.write(Change::Patch(id, members), StatusCode::OK).await
}

async fn delete(State(store): State<Store>, Path(id): Path<i64>) -> Response {
    store.write(Change::Delete(id), StatusCode::NO_CONTENT).await
}

async fn read_one(State(store): State<Store>, Path(id): Path<i64>) -> Response {
    let (response, outcome) = oneshot::channel();
    store.read(Read::One(id, response), outcome).await
}

async fn read_page(State(store): State<Store>, Query(query): Query<PageQuery>) -> Response {
    let (response, outcome) = oneshot::channel();
    let limit = query.limit.unwrap_or(100).min(1_000);
    let after = query.after.unwrap_or(i64::MIN);
    store.read(Read::Page { after, limit, response }, outcome).await
}

fn checked(body: Result<Json<NewPlant>, JsonRejection>) -> Result<NewPlant, Response> {
    match body {
        Ok(Json(plant)) if are_fit(Some(&plant.name), plant.tag.as_deref()) => Ok(plant),
        Ok(_) => Err(unfit()),
        Err(rejection) => Err(error(StatusCode::BAD_REQUEST, 40002, rejection.body_text())),
    }
}

fn are_fit(name: Option<&str>, tag: Option<&str>) -> bool {
    name.is_none_or(|name| !name.is_empty() && name.chars().count() <= LENGTH_MAX)
        && tag.is_none_or(|tag| tag.chars().count() <= LENGTH_MAX)
}

fn unfit() -> Response {
    error(StatusCode::BAD_REQUEST, 40002, format!("A name has 1 to {LENGTH_MAX} characters, a tag at most as many"))
}

fn not_found() -> Response {
    error(StatusCode::NOT_FOUND, 40400, "There is no such plant".into())
}

fn error(status: StatusCode, error: u32, message: String) -> Response {
    (status, Json(ApiError { error, message })).into_response()
}

/// Answers 401 unless the request has a bearer token with this hash.
async fn authenticate(expected: [u8; 32], request: Request, next: Next) -> Response {
    let value = request.headers().get(header::AUTHORIZATION).map(|value| value.as_bytes());
    match value.and_then(|value| value.strip_prefix(b"Bearer ")) {
        Some(token) if Sha256::digest(token)[..] == expected => next.run(request).await,
        _ => error(StatusCode::UNAUTHORIZED, 40100, "Unauthorized".into()),
    }
}

/// Commits changes until all senders are gone. Those that arrive during a commit form the next transaction.
fn commit_batches(mut database: Connection, queue: Receiver<Write>) -> rusqlite::Result<()> {
    let mut outcomes = Vec::with_capacity(BATCH_CHANGES_MAX);
    while let Ok(first) = queue.recv() {
        let transaction = database.transaction()?;
        let batch = std::iter::once(first).chain(queue.try_iter()).take(BATCH_CHANGES_MAX);
        for (change, sender) in batch {
            outcomes.push((make(&transaction, change)?, sender));
        }
        transaction.commit()?;
        for (plant, sender) in outcomes.drain(..) {
            // The client may be gone.
            _ = sender.send(plant);
        }
    }
    Ok(())
}

fn make(database: &Connection, change: Change) -> rusqlite::Result<Option<Plant>> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as i64);
    let (id, name, tag) = match change {
        Change::Create(NewPlant { name, tag }) => {
            let mut insert =
                database.prepare_cached("INSERT INTO plants (name, tag, created_at) VALUES (?, ?, ?)")?;
            let id = insert.insert(params![name, tag, now])?;
            return Ok(Some(Plant { id, name, tag }));
        }
        Change::Replace(id, NewPlant { name, tag }) => (id, Some(name), Some(tag)),
        Change::Patch(id, Members { name, tag }) => (id, name, tag.map(Some)),
        Change::Delete(id) => {
            let Some(before) = find(database, id)? else { return Ok(None) };
            database.prepare_cached("DELETE FROM plants WHERE id = ?")?.execute([id])?;
            record(database, &before, None, now)?;
            return Ok(Some(before));
        }
    };
    let Some(before) = find(database, id)? else { return Ok(None) };
    let name = name.unwrap_or_else(|| before.name.clone());
    let tag = tag.unwrap_or_else(|| before.tag.clone());
    let after = Plant { id, name, tag };
    database
        .prepare_cached("UPDATE plants SET name = ?, tag = ?, version = version + 1 WHERE id = ?")?
        .execute(params![after.name, after.tag, id])?;
    record(database, &before, Some(&after), now)?;
    Ok(Some(after))
}

fn record(database: &Connection, before: &Plant, after: Option<&Plant>, now: i64) -> rusqlite::Result<()> {
    let to_json = |plant| serde_json::to_string(plant).expect("a plant is JSON");
    database
        .prepare_cached("INSERT INTO edits (plant, at, before, after) VALUES (?, ?, ?, ?)")?
        .execute(params![before.id, now, to_json(before), after.map(to_json)])?;
    Ok(())
}

fn find(database: &Connection, id: i64) -> rusqlite::Result<Option<Plant>> {
    let mut select = database.prepare_cached("SELECT id, name, tag FROM plants WHERE id = ?")?;
    select.query_row([id], to_plant).optional()
}

fn to_plant(row: &Row) -> rusqlite::Result<Plant> {
    Ok(Plant { id: row.get(0)?, name: row.get(1)?, tag: row.get(2)? })
}

/// Reads until all senders are gone.
fn read_all(database: Connection, queue: Receiver<Read>) -> rusqlite::Result<()> {
    while let Ok(read) = queue.recv() {
        match read {
            Read::One(id, response) => {
                let plant = find(&database, id)?;
                _ = response.send(plant.map(|plant| serde_json::to_string(&plant).expect("a plant is JSON")));
            }
            Read::Page { after, limit, response } => {
                let mut select =
                    database.prepare_cached("SELECT id, name, tag FROM plants WHERE id > ? ORDER BY id LIMIT ?")?;
                let plants: Vec<Plant> = select.query_map(params![after, limit], to_plant)?.collect::<Result<_, _>>()?;
                _ = response.send(Some(serde_json::to_string(&plants).expect("plants are JSON")));
            }
        }
    }
    Ok(())
}

fn open() -> Result<Connection, Box<dyn Error>> {
    let database = Connection::open(env::var("DATABASE")?)?;
    database.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")?;
    Ok(database)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let database = open()?;
    database.execute_batch(
        "CREATE TABLE IF NOT EXISTS plants (
           id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT, created_at INTEGER NOT NULL,
           version INTEGER NOT NULL DEFAULT 1) STRICT;
         CREATE TABLE IF NOT EXISTS edits (
           number INTEGER PRIMARY KEY, plant INTEGER NOT NULL, at INTEGER NOT NULL, before TEXT, after TEXT) STRICT",
    )?;
    let reader = open()?;
    let expected: [u8; 32] = Sha256::digest(env::var("TOKEN")?).into();
    let (writes, writing) = channel();
    let (reads, reading) = channel();
    let writer = thread::spawn(move || commit_batches(database, writing).expect("the store can be written"));
    thread::spawn(move || read_all(reader, reading).expect("the store can be read"));
    let app = Router::new()
        .route("/plants", get(read_page).post(create))
        .route("/plants/{id}", get(read_one).put(replace).patch(patch).delete(delete))
        .layer(from_fn(move |request, next| authenticate(expected, request, next)))
        .with_state(Store { writes, reads });
    let listener = TcpListener::bind(("127.0.0.1", env::var("PORT")?.parse()?)).await?;
    let mut terminated = signal(SignalKind::terminate())?;
    axum::serve(listener, app)
        .with_graceful_shutdown(async move { _ = terminated.recv().await })
        .await?;
    writer.join().map_err(|_| "the writing thread has failed")?;
    Ok(())
}
