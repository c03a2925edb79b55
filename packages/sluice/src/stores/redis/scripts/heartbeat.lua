-- Purpose: says that an instance is alive, and tells how many are and whether any key is blocked. A script of its own.
-- KEYS[1]: a sorted set of instances by the time they were last seen. KEYS[2]: exists while any key is blocked.
-- ARGV[1]: the instance. ARGV[2]: after how many ms without a sign it is forgotten; 0 to leave now. ARGV[3]: blocked for (ms), or 0.
-- Reply: how many instances live, 1 if any key is blocked.

local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local patience = tonumber(ARGV[2])
if patience > 0 then
  -- With XX this adds nothing, but a server without memory refuses it. After PEXPIRE it would refuse nothing.
  redis.call("ZADD", KEYS[1], "XX", now, ARGV[1])
  -- A user who may not set an expiry must not leave a key without one.
  redis.call("PEXPIRE", KEYS[1], patience)
  redis.call("ZADD", KEYS[1], now, ARGV[1])
  redis.call("ZREMRANGEBYSCORE", KEYS[1], "-inf", now - patience)
  redis.call("PEXPIRE", KEYS[1], patience)
else
  redis.call("ZREM", KEYS[1], ARGV[1])
end
local blocked_for = tonumber(ARGV[3])
if blocked_for > redis.call("PTTL", KEYS[2]) and blocked_for > 0 then
  redis.call("SET", KEYS[2], "1", "PX", blocked_for)
end
return { redis.call("ZCARD", KEYS[1]), redis.call("EXISTS", KEYS[2]) }
