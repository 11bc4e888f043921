-- Creates plants: every request carries an id that was never sent before. Arguments: the token, the first id, and
-- "random" for ids all over the table, of 19 digits and seeded by the first id, instead of consecutive ones.

-- All ids of a run have as many digits as this, so that only the digits of a finished request need replacing:
-- wrk has one thread here, and what it spends on a request is taken from what it can ask for.
local placeholder = "0000000000000"
local random_placeholder = "0000000000000000000"

local start, middle, rest
local next_id
local is_random

function init(args)
  next_id = tonumber(args[2])
  is_random = args[3] == "random"
  if is_random then
    math.randomseed(next_id)
    placeholder = random_placeholder
  end
  local headers = {
    ["Authorization"] = "Bearer " .. args[1],
    ["Content-Type"] = "application/json",
    ["Host"] = wrk.headers["Host"],
  }
  local body = '{"id": ' .. placeholder .. ', "name": "Monstera deliciosa ' .. placeholder .. '", "tag": "tropical"}'
  local whole = wrk.format("POST", nil, headers, body)
  local first_start, first_end = whole:find(placeholder, 1, true)
  local second_start, second_end = whole:find(placeholder, first_end + 1, true)
  start = whole:sub(1, first_start - 1)
  middle = whole:sub(first_end + 1, second_start - 1)
  rest = whole:sub(second_end + 1)
end

-- A number of Lua holds 15 digits exactly, so a random id has two parts. Up to 2^62.
function request()
  local id
  if is_random then
    id = string.format("%d%09d", math.random(1000000000, 4611686017), math.random(0, 999999999))
  else
    id = string.format("%d", next_id)
    next_id = next_id + 1
  end
  return start .. id .. middle .. id .. rest
end

-- Prints the result.
dofile(debug.getinfo(1, "S").source:match("@(.*/)") .. "wrk-result.lua")
