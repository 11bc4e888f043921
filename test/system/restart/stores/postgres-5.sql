CREATE TABLE public.creators (
  id integer NOT NULL,
  name text NOT NULL
);
CREATE TABLE public.edits (
  run text NOT NULL,
  seq bigint NOT NULL,
  plant_id bigint NOT NULL,
  edited_at bigint NOT NULL,
  editor text NOT NULL,
  before text,
  after text,
  created_at bigint,
  creator integer
);
CREATE TABLE public.plants (
  id bigint NOT NULL,
  name text NOT NULL,
  tag text,
  created_at bigint,
  creator integer
);
CREATE TABLE public.plantstore_schema (
  only_row boolean NOT NULL,
  version integer NOT NULL
);
CREATE TABLE public.tokens (
  hash text NOT NULL,
  name text NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint,
  revoked_at bigint,
  predecessors_end_at bigint,
  last_used_at bigint,
  revision bigint NOT NULL DEFAULT 0,
  creator integer
);
INSERT INTO public.creators (id, name) OVERRIDING SYSTEM VALUE VALUES ('1', 'ci');
INSERT INTO public.creators (id, name) OVERRIDING SYSTEM VALUE VALUES ('2', 'old');
INSERT INTO public.creators (id, name) OVERRIDING SYSTEM VALUE VALUES ('3', 'worker');
INSERT INTO public.edits (run, seq, plant_id, edited_at, editor, before, after, created_at, creator) OVERRIDING SYSTEM VALUE VALUES ('7xes97jdbn', '0', '7', '1795376843832', '{"by":"command","uid":0,"user":"root"}', '{"id":7,"name":"Rosa"}', '{"id":7,"name":"Rosa","tag":"rose"}', '1795376843688', NULL);
INSERT INTO public.edits (run, seq, plant_id, edited_at, editor, before, after, created_at, creator) OVERRIDING SYSTEM VALUE VALUES ('aiknehnr2j', '0', '7', '1795376844011', '{"by":"command","uid":0,"user":"root"}', '{"id":7,"name":"Rosa","tag":"rose"}', NULL, '1795376843688', NULL);
INSERT INTO public.plants (id, name, tag, created_at, creator) OVERRIDING SYSTEM VALUE VALUES ('-9223372036854775808', 'Ficus 🌿', NULL, '1795376843573', NULL);
INSERT INTO public.plants (id, name, tag, created_at, creator) OVERRIDING SYSTEM VALUE VALUES ('0', 'Aloe', '', '1795376843573', NULL);
INSERT INTO public.plants (id, name, tag, created_at, creator) OVERRIDING SYSTEM VALUE VALUES ('9007199254740993', 'Monstera deliciosa', 'tropical', '1795376843573', NULL);
INSERT INTO public.plantstore_schema (only_row, version) OVERRIDING SYSTEM VALUE VALUES ('true', '5');
INSERT INTO public.tokens (hash, name, created_at, expires_at, revoked_at, predecessors_end_at, last_used_at, revision, creator) OVERRIDING SYSTEM VALUE VALUES ('-n-iU4CUPKTu5k-6sFfvi6YKXF54gs6mIZylzHAbJuU', 'worker', '1795376843396', NULL, NULL, '1795981643396', NULL, '5', '3');
INSERT INTO public.tokens (hash, name, created_at, expires_at, revoked_at, predecessors_end_at, last_used_at, revision, creator) OVERRIDING SYSTEM VALUE VALUES ('BqhHkKlhzsNxl7MowHBVZpMh7TY2rcaKT0hKf2CO6sk', 'worker', '1795376843286', NULL, NULL, NULL, NULL, '4', '3');
INSERT INTO public.tokens (hash, name, created_at, expires_at, revoked_at, predecessors_end_at, last_used_at, revision, creator) OVERRIDING SYSTEM VALUE VALUES ('q2ZiIkGRrx2mpMylRP4b-8KY7hzs15NzIQ8JJ84H-0Q', 'ci', '1795376842930', NULL, NULL, NULL, NULL, '1', '1');
INSERT INTO public.tokens (hash, name, created_at, expires_at, revoked_at, predecessors_end_at, last_used_at, revision, creator) OVERRIDING SYSTEM VALUE VALUES ('rnxuteX9u2KMdGI0Sf2UKcYmSNScLNZnGz09QAlr_TA', 'old', '1795376843045', NULL, '1795376843234', NULL, NULL, '3', '2');
ALTER TABLE public.creators ADD CONSTRAINT creators_name_key UNIQUE (name);
ALTER TABLE public.creators ADD CONSTRAINT creators_pkey PRIMARY KEY (id);
ALTER TABLE public.edits ADD CONSTRAINT edits_pkey PRIMARY KEY (plant_id, run, seq);
ALTER TABLE public.plants ADD CONSTRAINT plants_pkey PRIMARY KEY (id);
ALTER TABLE public.plantstore_schema ADD CONSTRAINT plantstore_schema_only_row_check CHECK (only_row);
ALTER TABLE public.plantstore_schema ADD CONSTRAINT plantstore_schema_pkey PRIMARY KEY (only_row);
ALTER TABLE public.tokens ADD CONSTRAINT tokens_pkey PRIMARY KEY (hash);
CREATE INDEX edits_by_run ON public.edits USING btree (run, edited_at, seq);
CREATE INDEX edits_by_time ON public.edits USING btree (edited_at, run, seq);
CREATE INDEX plants_by_creation ON public.plants USING btree (created_at) WHERE (created_at IS NOT NULL);
CREATE INDEX tokens_by_name ON public.tokens USING btree (name, revoked_at);
CREATE INDEX tokens_by_revision ON public.tokens USING btree (revision);
