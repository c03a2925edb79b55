-- The list of the blocked keys of a fleet: adds a key, or reads the list. A script of its own.
--
-- KEYS[1]: a sorted set of the blocked keys of a fleet, by the end of their block in ms.
-- ARGV[1]: for how many ms a key was just blocked; 0 to read.
-- ARGV[2]: the name of the block, to add it.
-- ARGV[3]: how many names to keep, or to reply at most.
-- Reply: 0, or the names of the blocks that last longest, those that end first before the others.

local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local length, most = tonumber(ARGV[1]), tonumber(ARGV[3])
redis.call("ZREMRANGEBYSCORE", KEYS[1], "-inf", now)
if length == 0 then return redis.call("ZRANGE", KEYS[1], -most, -1) end
local ttl = math.max(length, redis.call("PTTL", KEYS[1]))
-- XX adds nothing, but a server that is out of memory refuses it. It would refuse nothing after PEXPIRE.
redis.call("ZADD", KEYS[1], "XX", now, ARGV[2])
-- A user who may not set an expiry must not leave a key without one.
redis.call("PEXPIRE", KEYS[1], ttl)
redis.call("ZADD", KEYS[1], now + length, ARGV[2])
redis.call("PEXPIRE", KEYS[1], ttl)
local excess = redis.call("ZCARD", KEYS[1]) - most
if excess > 0 then redis.call("ZREM", KEYS[1], unpack(redis.call("ZRANGE", KEYS[1], 0, excess - 1))) end
return 0
