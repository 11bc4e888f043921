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
INSERT INTO public.edits (run, seq, plant_id, edited_at, editor, before, after, created_at, creator) OVERRIDING SYSTEM VALUE VALUES ('due9vpsr67', '0', '7', '1795378739925', '{"by":"command","uid":0,"user":"root"}', '{"id":7,"name":"Rosa"}', '{"id":7,"name":"Rosa","tag":"rose"}', '1795378739818', NULL);
INSERT INTO public.edits (run, seq, plant_id, edited_at, editor, before, after, created_at, creator) OVERRIDING SYSTEM VALUE VALUES ('nyqyfci8ec', '0', '7', '1795378740054', '{"by":"command","uid":0,"user":"root"}', '{"id":7,"name":"Rosa","tag":"rose"}', NULL, '1795378739818', NULL);
INSERT INTO public.plants (id, name, tag, created_at, creator) OVERRIDING SYSTEM VALUE VALUES ('-9223372036854775808', 'Ficus 🌿', NULL, '1795378739729', NULL);
INSERT INTO public.plants (id, name, tag, created_at, creator) OVERRIDING SYSTEM VALUE VALUES ('0', 'Aloe', '', '1795378739729', NULL);
INSERT INTO public.plants (id, name, tag, created_at, creator) OVERRIDING SYSTEM VALUE VALUES ('9007199254740993', 'Monstera deliciosa', 'tropical', '1795378739729', NULL);
INSERT INTO public.plantstore_schema (only_row, version) OVERRIDING SYSTEM VALUE VALUES ('true', '5');
INSERT INTO public.tokens (hash, name, created_at, expires_at, revoked_at, predecessors_end_at, last_used_at, revision, creator) OVERRIDING SYSTEM VALUE VALUES ('3ewAHihRBZignQRPONLqCcVE8HcqvEpG3ucTMGv0KPw', 'old', '1795378739354', NULL, '1795378739484', NULL, NULL, '3', '2');
INSERT INTO public.tokens (hash, name, created_at, expires_at, revoked_at, predecessors_end_at, last_used_at, revision, creator) OVERRIDING SYSTEM VALUE VALUES ('IqerODjI2wRG-w3f94v9y03NtFQFIZndEOu8ZUGRNh0', 'worker', '1795378739525', NULL, NULL, NULL, NULL, '4', '3');
INSERT INTO public.tokens (hash, name, created_at, expires_at, revoked_at, predecessors_end_at, last_used_at, revision, creator) OVERRIDING SYSTEM VALUE VALUES ('O_L6PBeiO4KotD3THJhgvlmbUC_Mpx19LybEQAQjSqY', 'worker', '1795378739603', NULL, NULL, '1795983539603', NULL, '5', '3');
INSERT INTO public.tokens (hash, name, created_at, expires_at, revoked_at, predecessors_end_at, last_used_at, revision, creator) OVERRIDING SYSTEM VALUE VALUES ('zmpxaqV6D6JogKaOhrgQU-9A71xRIfIBRrEBm26Yzi4', 'ci', '1795378739269', NULL, NULL, NULL, NULL, '1', '1');
ALTER TABLE public.creators ADD CONSTRAINT creators_name_key UNIQUE (name);
ALTER TABLE public.creators ADD CONSTRAINT creators_pkey PRIMARY KEY (id);
ALTER TABLE public.edits ADD CONSTRAINT edits_pkey PRIMARY KEY (plant_id, run, seq);
ALTER TABLE public.plants ADD CONSTRAINT plants_pkey PRIMARY KEY (id);
ALTER TABLE public.plantstore_schema ADD CONSTRAINT plantstore_schema_only_row_check CHECK (only_row);
ALTER TABLE public.plantstore_schema ADD CONSTRAINT plantstore_schema_pkey PRIMARY KEY (only_row);
ALTER TABLE public.tokens ADD CONSTRAINT tokens_pkey PRIMARY KEY (hash);
CREATE INDEX edits_by_run ON public.edits USING btree (run, seq);
CREATE INDEX edits_by_time ON public.edits USING btree (edited_at, run, seq);
CREATE INDEX plants_by_creation ON public.plants USING btree (created_at) WHERE (created_at IS NOT NULL);
CREATE INDEX tokens_by_name ON public.tokens USING btree (name, revoked_at);
CREATE INDEX tokens_by_revision ON public.tokens USING btree (revision);
