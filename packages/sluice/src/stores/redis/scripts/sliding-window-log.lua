-- Purpose: sliding window log; the twin of algorithms/sliding-window-log.ts.
-- KEYS: a sorted set per key. An entry's score is its time, its member "total:units:window": the running total of units up
-- to and including it, its own, and the window it was charged under; that of the newest counts for all. Two look-ups and a subtraction answer any question, so nothing is pruned to decide.
-- Policy: limit and window only.
-- Reply: units in the window, time of the newest, time of the entry with which enough leave for this cost.

local sliding_window_log = { is_log = true }

local WRAP = 4503599627370496

local function log_entry(found)
  if found[1] == nil then return nil end
  local total, units, window = string.match(found[1], "^(%d+):(%d+):(%d+)$")
  local entry = { member = found[1], time = tonumber(found[2]), total = tonumber(total), units = tonumber(units) }
  entry.window = tonumber(window)
  return entry
end

local function log_at_rank(key, rank)
  return log_entry(redis.call("ZRANGE", key, rank, rank, "WITHSCORES"))
end

local function log_units(first, last)
  local units = last.total - (first.total - first.units)
  if units < 0 then units = units + WRAP end
  if units >= WRAP then units = units - WRAP end
  return units
end

local function log_add(policy, key, time, total, units)
  if total >= WRAP then total = total - WRAP end
  redis.call("ZADD", key, string.format("%.0f", time), string.format("%.0f:%.0f:%.0f", total, units, policy.window))
end

-- Writes the newest entry anew, so that the log is one of this window.
local function log_renew(policy, key)
  local last = log_at_rank(key, -1)
  if last == nil or last.window == policy.window then return end
  redis.call("ZREM", key, last.member)
  log_add(policy, key, last.time, last.total, last.units)
end

function sliding_window_log.settle(policy, key, now)
  local found = redis.pcall("ZRANGE", key, -1, -1, "WITHSCORES")
  if found.err then return nil end
  local last = log_entry(found)
  if last == nil then return { used = 0, newest = now, time = now }, false end
  if last.units == nil then return nil end
  local ahead = last.time - now > policy.window
  local t = now
  if last.time > now and not ahead then t = last.time end
  -- What had left the window it was charged under does not come back with a longer one.
  local span = min(policy.window, last.window)
  local since = t - span
  if ahead then since = last.time - span end
  local from = string.format("(%.0f", since)
  local first = log_entry(redis.call("ZRANGEBYSCORE", key, from, "+inf", "WITHSCORES", "LIMIT", 0, 1))
  if first ~= nil and first.units == nil then return nil end
  local log = { used = 0, newest = last.time, time = t, since = since, first = first, last = last, ahead = ahead }
  if first ~= nil then log.used = log_units(first, last) end
  if ahead then log.newest = now end
  return log, ahead or last.window ~= policy.window
end

function sliding_window_log.fits(policy, log, cost)
  return cost <= policy.limit - log.used
end

-- The time of the entry with which the first `excess` units have all left.
local function log_frees(policy, key, log, cost, now)
  local excess = cost - (policy.limit - log.used)
  if log.ahead or log.first == nil then return now end
  if log.first.units >= excess then return log.first.time end
  local low = redis.call("ZRANK", key, log.first.member)
  local high = redis.call("ZCARD", key) - 1
  while low < high do
    local middle = floor((low + high) / 2)
    if log_units(log.first, log_at_rank(key, middle)) >= excess then high = middle else low = middle + 1 end
  end
  return log_at_rank(key, low).time
end

function sliding_window_log.reply(policy, key, log, cost, now)
  local frees = 0
  if cost <= policy.limit and not sliding_window_log.fits(policy, log, cost) then
    frees = log_frees(policy, key, log, cost, now)
  end
  return struct.pack("<ddd", log.used, log.newest, frees)
end

-- Prunes the log, or gathers one from a wrong clock into a single entry, then adds the cost.
function sliding_window_log.charge(policy, key, log, cost)
  local last = log.last
  if log.ahead then
    redis.call("DEL", key)
    log_add(policy, key, log.time, last.total, log.used)
    last = log_at_rank(key, -1)
  elseif log.since ~= nil then
    redis.call("ZREMRANGEBYSCORE", key, "-inf", string.format("%.0f", log.since))
  end
  if cost == 0 then
    log_renew(policy, key)
  elseif log.used == 0 or last == nil then
    log_add(policy, key, log.time, cost, cost)
  elseif last.time == log.time then
    redis.call("ZREM", key, last.member)
    log_add(policy, key, log.time, last.total + cost, last.units + cost)
  else
    log_add(policy, key, log.time, last.total + cost, cost)
  end
end

-- Newest units first.
function sliding_window_log.refund(policy, key, log, cost)
  sliding_window_log.charge(policy, key, log, 0)
  while cost > 0 do
    local last = log_at_rank(key, -1)
    if last == nil then return end
    redis.call("ZREM", key, last.member)
    if last.units > cost then
      local total = last.total - cost
      if total < 0 then total = total + WRAP end
      log_add(policy, key, last.time, total, last.units - cost)
      return
    end
    cost = cost - last.units
  end
  log_renew(policy, key)
end

function sliding_window_log.expires(policy, log)
  return log.time + policy.window
end
