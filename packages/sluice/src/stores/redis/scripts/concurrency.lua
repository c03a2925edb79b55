-- Concurrency. Decides as algorithms/concurrency.ts does.
--
-- State, a sorted set: the score of a hold is its end, its member is "units:id". If a hold has more than one unit, the member
--   "extra" has as its score, below zero, how many units the holds have beyond one each; holds that have ended count too, until
--   they are removed. Members never change, so that ZREM alone releases a hold of one unit.
-- Policy: limit, and the window, after which a hold ends by itself.
-- Returns the functions of the algorithm; main.lua describes them. They take the key where others take the state, and
--   `settle` returns the holds at hand: units that are held, and the last end.

local function concurrency()
  local MAX_UNITS = 4503599627370496

  local function text(number)
    return string.format("%.0f", number)
  end

  local function units_of(member)
    return tonumber(string.match(member, "^(%d+):"))
  end

  -- Units beyond one each of the holds in a list of members.
  local function extra_of(members)
    local extra = 0
    for i = 1, #members do extra = extra + (units_of(members[i]) or 1) - 1 end
    return extra
  end

  local function settle(policy, key, now)
    local found = redis.pcall("ZRANGE", key, -1, -1, "WITHSCORES")
    if found.err then return nil end
    if found[1] == nil then return { used = 0, newest = 0, extra = 0, is_clean = true }, false end
    local last = tonumber(found[2])
    if units_of(found[1]) == nil or not (last > 0 and last < math.huge) then return nil end
    local held = redis.call("ZCOUNT", key, "(" .. text(now), "+inf")
    local count = redis.call("ZCARD", key)
    local holds = { used = held, newest = last, last = last, ended = 0, extra = 0, is_clean = count == held }
    holds.ahead = last - now > 2 * policy.window
    if not holds.is_clean then
      -- Some holds have ended, or some have more than one unit.
      holds.extra = -(redis.call("ZSCORE", key, "extra") or 0)
      if holds.extra > 0 then
        holds.ended = extra_of(redis.call("ZRANGEBYSCORE", key, 0, text(now)))
        holds.used = held + holds.extra - holds.ended
      end
    end
    return holds, holds.ahead
  end

  local function fits(policy, holds, cost)
    return cost <= policy.limit - holds.used
  end

  -- The end with which so many units are free that `cost` fits.
  local function frees_at(policy, key, holds, cost, now)
    local excess = cost - (policy.limit - holds.used)
    local after = "(" .. text(now)
    if holds.extra == 0 then
      return tonumber(redis.call("ZRANGEBYSCORE", key, after, "+inf", "WITHSCORES", "LIMIT", text(excess - 1), 1)[2])
    end
    -- Few holds are read at a time: usually the first few free enough.
    local freed, offset = 0, 0
    while true do
      local found = redis.call("ZRANGEBYSCORE", key, after, "+inf", "WITHSCORES", "LIMIT", offset, 64)
      if found[1] == nil then return now end
      for i = 1, #found, 2 do
        freed = freed + (units_of(found[i]) or 1)
        if freed >= excess then return tonumber(found[i + 1]) end
      end
      offset = offset + 64
    end
  end

  -- What the reply says of holds: units held, the last end, and the end with which enough units are free for this cost, or for
  -- one unit when the cost is 0.
  local function summary(policy, key, holds, cost, now)
    local frees = 0
    cost = max(cost, 1)
    if cost <= policy.limit and not fits(policy, holds, cost) then frees = frees_at(policy, key, holds, cost, now) end
    return { holds.used, holds.newest, frees }
  end

  local function add_extra(key, units)
    if units ~= 0 and tonumber(redis.call("ZINCRBY", key, text(-units), "extra")) == 0 then redis.call("ZREM", key, "extra") end
  end

  -- Removes holds that have ended, and cuts those of a state from far ahead. Returns the last end that is left.
  local function prune(policy, key, holds, now)
    if not holds.is_clean then
      redis.call("ZREMRANGEBYSCORE", key, 0, text(now))
      add_extra(key, -holds.ended)
    end
    if not holds.ahead then return holds.newest end
    local cut = text(now + policy.window)
    for _, member in ipairs(redis.call("ZRANGEBYSCORE", key, "(" .. cut, "+inf")) do redis.call("ZADD", key, cut, member) end
    return now + policy.window
  end

  local function end_of_new(policy, last, now)
    return max(now + policy.window, last)
  end

  -- A charge without an id adds a hold that nobody can release.
  local function charge(policy, key, holds, cost, now, id)
    local last = prune(policy, key, holds, now)
    local units = min(cost, MAX_UNITS - holds.used)
    if units <= 0 then return end
    -- First what a user may not be allowed: main.lua has tried ZADD and PEXPIRE.
    add_extra(key, units - 1)
    redis.call("ZADD", key, text(end_of_new(policy, last, now)), text(units) .. ":" .. id)
  end

  -- Ends the hold with this id. Without an id, takes the units that would be held the longest.
  local function refund(policy, key, holds, cost, charged_at, now, id)
    prune(policy, key, holds, now)
    if id then
      if redis.call("ZREM", key, text(cost) .. ":" .. id) == 1 then add_extra(key, 1 - cost) end
      return
    end
    while cost > 0 do
      local found = redis.call("ZRANGE", key, -1, -1, "WITHSCORES")
      local units = found[1] and units_of(found[1])
      if not units then return end
      redis.call("ZREM", key, found[1])
      local taken = min(units, cost)
      if units > taken then
        redis.call("ZADD", key, found[2], text(units - taken) .. string.match(found[1], ":.*$"))
        add_extra(key, -taken)
      else
        add_extra(key, 1 - units)
      end
      cost = cost - taken
    end
  end

  -- Whether the hold with this id has not ended.
  local function is_held(key, cost, now, id)
    local hold_end = redis.call("ZSCORE", key, text(cost) .. ":" .. id)
    return hold_end and tonumber(hold_end) > now
  end

  local function extend(policy, key, holds, cost, now, id)
    local last = prune(policy, key, holds, now)
    redis.call("ZADD", key, text(end_of_new(policy, last, now)), text(cost) .. ":" .. id)
  end

  local function expires(policy, holds, now)
    return end_of_new(policy, min(holds.newest, now + 2 * policy.window), now)
  end

  return {
    is_log = true, is_hold = true, cells = 3,
    settle = settle, fits = fits, summary = summary, charge = charge, refund = refund, expires = expires,
    is_held = is_held, extend = extend,
  }
end
