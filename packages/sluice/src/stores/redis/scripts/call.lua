-- The start of the script: reads the values of all keys, and defines what the compact and the general form of a call share.
--
-- KEYS, ARGV[1] and the reply: see main.lua.

local call, read, write = redis.call, struct.unpack, struct.pack
local ceil = math.ceil

local message = cjson.decode(ARGV[1])
local expiry_buffer, min_expiry, policy_count = message[1], message[2], message[3]
local is_compact = policy_count == 0

-- What Redis holds, by index of the key; false for a key that does not exist or holds no string.
local values = call("MGET", unpack(KEYS))

local server_time
local function time_or_server(time)
  if time >= 0 then return time end
  if server_time == nil then
    local now = call("TIME")
    server_time = now[1] * 1000000 + now[2]
  end
  return server_time
end

-- In ms, as text: Redis would print a number with 17 digits and read it again.
local function time_to_live(expires, now)
  local ttl = ceil((expires - now) / 1000) + expiry_buffer
  if ttl < min_expiry then ttl = min_expiry end
  return string.format("%d", ttl)
end

-- Gives a key that somebody made permanent its expiry back. PEXPIRE has a flag for it only since Redis 7.
local function repair(index, expires, now)
  if call("PTTL", KEYS[index]) == -1 then call("PEXPIRE", KEYS[index], time_to_live(expires, now)) end
end
