-- Sliding window log. Decides as algorithms/sliding-window-log.ts does.
--
-- State, a sorted set: the score of an entry is its time, its member is "total:units:window". `total` counts all units up to
--   and including the entry, `units` its own, and `window` is the window it was charged under; the window of the newest
--   entry holds for all. Two look-ups and a subtraction count any part of the log, so deciding removes nothing.
-- Policy: limit and window only.
-- Returns the functions of the algorithm; main.lua describes them. They take the key where others take the state, and
--   `settle` returns the log at hand: units in the window, time of the newest entry, and what else the others need.

local function sliding_window_log()
  -- Totals start again from 0 here, far below 2^53.
  local WRAP = 4503599627370496
  -- How many entries a refund of one time rewrites at most.
  local MAX_REWRITTEN = 100

  local function parse(found)
    if found[1] == nil then return nil end
    local total, units, window = string.match(found[1], "^(%d+):(%d+):(%d+)$")
    local entry = { member = found[1], time = tonumber(found[2]), total = tonumber(total), units = tonumber(units) }
    entry.window = tonumber(window)
    return entry
  end

  local function entry_at(key, rank)
    return parse(redis.call("ZRANGE", key, rank, rank, "WITHSCORES"))
  end

  local function units_between(first, last)
    local units = last.total - (first.total - first.units)
    if units < 0 then units = units + WRAP end
    if units >= WRAP then units = units - WRAP end
    return units
  end

  local function add(policy, key, time, total, units)
    if total >= WRAP then total = total - WRAP end
    redis.call("ZADD", key, string.format("%.0f", time), string.format("%.0f:%.0f:%.0f", total, units, policy.window))
  end

  -- Writes the newest entry again, so that the log belongs to the window of this policy.
  local function renew(policy, key)
    local last = entry_at(key, -1)
    if last == nil or last.window == policy.window then return end
    redis.call("ZREM", key, last.member)
    add(policy, key, last.time, last.total, last.units)
  end

  local function settle(policy, key, now)
    local found = redis.pcall("ZRANGE", key, -1, -1, "WITHSCORES")
    if found.err then return nil end
    local last = parse(found)
    if last == nil then return { used = 0, newest = now, time = now }, false end
    if last.units == nil then return nil end
    local ahead = last.time - now > policy.window
    local t = now
    if last.time > now and not ahead then t = last.time end
    -- Units that have left the window they were charged under do not come back under a longer one.
    local span = min(policy.window, last.window)
    local since = t - span
    if ahead then since = last.time - span end
    local from = string.format("(%.0f", since)
    local first = parse(redis.call("ZRANGEBYSCORE", key, from, "+inf", "WITHSCORES", "LIMIT", 0, 1))
    if first ~= nil and first.units == nil then return nil end
    local log = { used = 0, newest = last.time, time = t, since = since, first = first, last = last, ahead = ahead }
    if first ~= nil then log.used = units_between(first, last) end
    if ahead then log.newest = now end
    return log, ahead or last.window ~= policy.window
  end

  local function fits(policy, log, cost)
    return cost <= policy.limit - log.used
  end

  local function room(policy, log)
    return policy.limit - log.used
  end

  -- The time of the entry with which enough units have left for `cost` to fit.
  local function frees_at(policy, key, log, cost, now)
    local excess = cost - (policy.limit - log.used)
    if log.ahead or log.first == nil then return now end
    if log.first.units >= excess then return log.first.time end
    local low = redis.call("ZRANK", key, log.first.member)
    local high = redis.call("ZCARD", key) - 1
    while low < high do
      local middle = floor((low + high) / 2)
      if units_between(log.first, entry_at(key, middle)) >= excess then high = middle else low = middle + 1 end
    end
    return entry_at(key, low).time
  end

  -- What the reply says of a log: units in the window, time of the newest, and when enough have left for this cost, or for
  -- one unit when the cost is 0.
  local function summary(policy, key, log, cost, now)
    local frees = 0
    cost = max(cost, 1)
    if cost <= policy.limit and not fits(policy, log, cost) then frees = frees_at(policy, key, log, cost, now) end
    return { log.used, log.newest, frees }
  end

  -- Removes entries that have left the window, then adds the cost. A log from a clock that was ahead becomes one entry.
  local function charge(policy, key, log, cost)
    local last = log.last
    if log.ahead then
      redis.call("DEL", key)
      add(policy, key, log.time, last.total, log.used)
      last = entry_at(key, -1)
    elseif log.since ~= nil then
      redis.call("ZREMRANGEBYSCORE", key, "-inf", string.format("%.0f", log.since))
    end
    if cost == 0 then
      renew(policy, key)
    elseif log.used == 0 or last == nil then
      add(policy, key, log.time, cost, cost)
    elseif last.time == log.time then
      redis.call("ZREM", key, last.member)
      add(policy, key, log.time, last.total + cost, last.units + cost)
    else
      add(policy, key, log.time, last.total + cost, cost)
    end
  end

  -- Takes units of the entry of one time, if it is among the newest, and rewrites the totals of the entries after it.
  local function refund_entry(policy, key, cost, time)
    local found = redis.call("ZREVRANGE", key, 0, MAX_REWRITTEN - 1, "WITHSCORES")
    local last = 1
    while found[last] and tonumber(found[last + 1]) > time do last = last + 2 end
    if found[last] == nil or tonumber(found[last + 1]) ~= time then return end
    local taken = min(parse({ found[last], found[last + 1] }).units, cost)
    for i = last, 1, -2 do
      local entry = parse({ found[i], found[i + 1] })
      redis.call("ZREM", key, entry.member)
      local total, units = entry.total - taken, entry.units
      if i == last then units = units - taken end
      if total < 0 then total = total + WRAP end
      if units > 0 then add(policy, key, entry.time, total, units) end
    end
    renew(policy, key)
  end

  -- Takes the newest units first, or only those of one time.
  local function refund(policy, key, log, cost, charged_at)
    charge(policy, key, log, 0)
    if charged_at >= 0 then return refund_entry(policy, key, cost, charged_at) end
    while cost > 0 do
      local last = entry_at(key, -1)
      if last == nil then return end
      redis.call("ZREM", key, last.member)
      if last.units > cost then
        local total = last.total - cost
        if total < 0 then total = total + WRAP end
        add(policy, key, last.time, total, last.units - cost)
        return
      end
      cost = cost - last.units
    end
    renew(policy, key)
  end

  local function expires(policy, log)
    return log.time + policy.window
  end

  return {
    is_log = true, cells = 3,
    settle = settle, fits = fits, room = room, summary = summary, charge = charge, refund = refund, expires = expires,
  }
end
