-- Sends one kind of request, again and again. Arguments: the token, the method, the query of a list, a file with an id
-- on each line, or "" for the collection itself, the body, in which "#" becomes the number of the request, the first
-- number, and "each" to take each id once, and then to end.

local headers, method, path, body, number
local ids = {}
local next_id = 1
local is_each

function init(args)
  headers = { ["Authorization"] = "Bearer " .. args[1], ["Content-Type"] = "application/json", ["Host"] = wrk.headers["Host"] }
  method = args[2]
  path = wrk.path .. args[3]
  body = args[5]
  number = tonumber(args[6])
  if args[4] ~= "" then
    for id in io.lines(args[4]) do ids[#ids + 1] = id end
  end
  is_each = args[7] == "each"
  if not is_each then
    for index = #ids, 2, -1 do
      local other = math.random(index)
      ids[index], ids[other] = ids[other], ids[index]
    end
  end
end

function request()
  number = number + 1
  local target = path
  if #ids > 0 then
    target = path .. "/" .. ids[next_id]
    next_id = next_id % #ids + 1
    if is_each and next_id == 1 then wrk.thread:stop() end
  end
  local sent = nil
  if body ~= "" then sent = body:gsub("#", string.format("%d", number)) end
  return wrk.format(method, target, headers, sent)
end

-- Prints the result.
dofile(debug.getinfo(1, "S").source:match("@(.*/)") .. "wrk-result.lua")
