SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.plants (
    id bigint NOT NULL,
    name text NOT NULL,
    tag text
);
CREATE TABLE public.plantstore_schema (
    only_row boolean NOT NULL,
    version integer NOT NULL,
    CONSTRAINT plantstore_schema_only_row_check CHECK (only_row)
);
CREATE TABLE public.tokens (
    hash text NOT NULL,
    name text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint,
    revoked_at bigint,
    predecessors_end_at bigint,
    last_used_at bigint
);
INSERT INTO public.plants VALUES (-9223372036854775808, 'Ficus 🌿', NULL);
INSERT INTO public.plants VALUES (0, 'Aloe', '');
INSERT INTO public.plants VALUES (9007199254740993, 'Monstera deliciosa', 'tropical');
INSERT INTO public.plantstore_schema VALUES (true, 2);
INSERT INTO public.tokens VALUES ('hCGl5MEqrcGamKL9O85A0WvwFNGOKpKbps65w166pSY', 'ci', 1795337505899, NULL, NULL, NULL, NULL);
INSERT INTO public.tokens VALUES ('tx-ceU4Qjq4HbFRqmeh1rsAHUYOg7I7Mds2-1DaCrjw', 'old', 1795337506410, NULL, 1795337507461, NULL, NULL);
INSERT INTO public.tokens VALUES ('slxga3zmtpqa0jNo-NEsHNYMHhix6PSaA2c62sMcZro', 'worker', 1795337507681, NULL, NULL, NULL, NULL);
INSERT INTO public.tokens VALUES ('co3oqJEvNmOUEyqrcAGhtgFP6HmlsdiNx1GmseVzD6U', 'worker', 1795337508398, NULL, NULL, 1795942308398, NULL);
ALTER TABLE ONLY public.plants
    ADD CONSTRAINT plants_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.plantstore_schema
    ADD CONSTRAINT plantstore_schema_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_pkey PRIMARY KEY (hash);
