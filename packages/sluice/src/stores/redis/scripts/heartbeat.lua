-- Tells Redis that an instance is alive; replies how many instances are, and whether any key is blocked. A script of its own.
--
-- KEYS[1]: a sorted set of the instances of a fleet, by the time of their last heartbeat in ms.
-- KEYS[2]: exists while any key is blocked.
-- ARGV[1]: the id of the instance.
-- ARGV[2]: after how many ms without a heartbeat an instance no longer counts; 0 when this instance leaves.
-- ARGV[3]: for how many ms a key was just blocked; 0 for none.
-- Reply: the number of live instances; 1 if any key is blocked, else 0.

local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local expiry = tonumber(ARGV[2])
if expiry > 0 then
  -- XX adds nothing, but a server that is out of memory refuses it. It would refuse nothing after PEXPIRE.
  redis.call("ZADD", KEYS[1], "XX", now, ARGV[1])
  -- A user who may not set an expiry must not leave a key without one.
  redis.call("PEXPIRE", KEYS[1], expiry)
  redis.call("ZADD", KEYS[1], now, ARGV[1])
  redis.call("ZREMRANGEBYSCORE", KEYS[1], "-inf", now - expiry)
  redis.call("PEXPIRE", KEYS[1], expiry)
else
  redis.call("ZREM", KEYS[1], ARGV[1])
end
local blocked_for = tonumber(ARGV[3])
if blocked_for > redis.call("PTTL", KEYS[2]) and blocked_for > 0 then
  redis.call("SET", KEYS[2], "1", "PX", blocked_for)
end
return { redis.call("ZCARD", KEYS[1]), redis.call("EXISTS", KEYS[2]) }
