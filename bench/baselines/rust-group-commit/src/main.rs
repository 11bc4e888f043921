// POST /plants as a Rust programmer writes it: axum, serde, rusqlite, and one thread that commits all plants that have
// arrived in one transaction. Serves on 127.0.0.1 until SIGTERM.

use std::env;
use std::error::Error;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use axum::extract::rejection::JsonRejection;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

const BATCH_PLANTS_MAX: usize = 1_000;

#[derive(Deserialize)]
struct NewPlant {
    id: i64,
    name: String,
    tag: Option<String>,
}

#[derive(Serialize)]
struct Plant {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<String>,
}

#[derive(Serialize)]
struct ApiError {
    error: u32,
    message: String,
}

/// A plant for the writing thread, which returns it with whether it is stored: the id may hold another one.
struct Create {
    plant: NewPlant,
    outcome: oneshot::Sender<(NewPlant, bool)>,
}

async fn create(State(queue): State<Sender<Create>>, body: Result<Json<NewPlant>, JsonRejection>) -> Response {
    let plant = match body {
        Ok(Json(plant)) => plant,
        Err(rejection) => return error(StatusCode::BAD_REQUEST, 40002, rejection.body_text()),
    };
    let (outcome, stored) = oneshot::channel();
    if queue.send(Create { plant, outcome }).is_err() {
        return error(StatusCode::SERVICE_UNAVAILABLE, 50300, "The store is closed".into());
    }
    match stored.await {
        Ok((NewPlant { name, tag, .. }, true)) => Json(Plant { name, tag }).into_response(),
        Ok((NewPlant { id, .. }, false)) => error(StatusCode::BAD_REQUEST, 40009, format!("The id {id} is taken")),
        Err(_) => error(StatusCode::SERVICE_UNAVAILABLE, 50300, "The plant may not be stored".into()),
    }
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

/// Commits plants until all senders are gone. Requests that arrive during a commit form the next one.
fn commit_batches(mut database: Connection, queue: Receiver<Create>) -> rusqlite::Result<()> {
    let mut outcomes = Vec::with_capacity(BATCH_PLANTS_MAX);
    while let Ok(first) = queue.recv() {
        let transaction = database.transaction()?;
        let batch = std::iter::once(first).chain(queue.try_iter()).take(BATCH_PLANTS_MAX);
        for Create { plant, outcome } in batch {
            let is_stored = insert(&transaction, &plant)?;
            outcomes.push((plant, is_stored, outcome));
        }
        transaction.commit()?;
        for (plant, is_stored, outcome) in outcomes.drain(..) {
            // The client may be gone.
            _ = outcome.send((plant, is_stored));
        }
    }
    Ok(())
}

/// Whether the id holds this plant now, rather than another one.
fn insert(database: &Connection, NewPlant { id, name, tag }: &NewPlant) -> rusqlite::Result<bool> {
    let mut insert =
        database.prepare_cached("INSERT INTO plants (id, name, tag) VALUES (?, ?, ?) ON CONFLICT DO NOTHING")?;
    if insert.execute(params![id, name, tag])? == 1 {
        return Ok(true);
    }
    let mut find = database.prepare_cached("SELECT 1 FROM plants WHERE id = ? AND name = ? AND tag IS ?")?;
    find.exists(params![id, name, tag])
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let database = Connection::open(env::var("DATABASE")?)?;
    database.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
         CREATE TABLE IF NOT EXISTS plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT) STRICT",
    )?;
    let expected: [u8; 32] = Sha256::digest(env::var("TOKEN")?).into();
    let (queue, plants) = channel();
    let writer = thread::spawn(move || commit_batches(database, plants).expect("the store can be written"));
    let app = Router::new()
        .route("/plants", post(create))
        .layer(from_fn(move |request, next| authenticate(expected, request, next)))
        .with_state(queue);
    let listener = TcpListener::bind(("127.0.0.1", env::var("PORT")?.parse()?)).await?;
    let mut terminated = signal(SignalKind::terminate())?;
    axum::serve(listener, app)
        .with_graceful_shutdown(async move { _ = terminated.recv().await })
        .await?;
    writer.join().map_err(|_| "the writing thread has failed")?;
    Ok(())
}
