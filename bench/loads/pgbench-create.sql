-- Creates plants, one a transaction: the ids and the lengths that wrk-create.lua sends, in much the same order.
\set count :count + 1
\set id :first_id + :count * :clients + :client_id
INSERT INTO plants (id, name, tag) VALUES (:id, :name, :tag) ON CONFLICT (id) DO NOTHING;
