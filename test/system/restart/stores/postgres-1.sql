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
    revoked_at bigint
);
INSERT INTO public.plants VALUES (-9223372036854775808, 'Ficus 🌿', NULL);
INSERT INTO public.plants VALUES (0, 'Aloe', '');
INSERT INTO public.plants VALUES (9007199254740993, 'Monstera deliciosa', 'tropical');
INSERT INTO public.plantstore_schema VALUES (true, 1);
INSERT INTO public.tokens VALUES ('lVX0KoT-CZPeEm51p0gVpNLLeB9iVvUnk11l6dTQD08', 'ci', 1795337501360, NULL, NULL);
INSERT INTO public.tokens VALUES ('nYAiPjvQ7-cXoo066_aEmX7nw-3w_Ag7IQgHHsTaowg', 'old', 1795337501677, NULL, 1795337502128);
ALTER TABLE ONLY public.plants
    ADD CONSTRAINT plants_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.plantstore_schema
    ADD CONSTRAINT plantstore_schema_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_pkey PRIMARY KEY (hash);
