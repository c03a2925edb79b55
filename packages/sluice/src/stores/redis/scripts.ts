// Generated from scripts/*.lua by `npm run generate`. DO NOT EDIT.

export const SCRIPT_DIGEST = "089b98d19cae1398b157b8dfcb1da0e1759ff1ab"

export const SCRIPT = `local policy = ARGV[1]
local kind, window, token, capacity, buffer, least, own
if policy ~= "" then kind, window, token, capacity, buffer, least, own = struct.unpack("sssssss", policy) end
if kind == "b" and not ARGV[3] and not KEYS[2] then
  local call, key, pack, ceil = redis.call, KEYS[1], struct.pack, math.ceil
  local now = ARGV[2]
  if now then
    now = now + 0
  else
    local time = call("TIME")
    now = time[1] * 1000000 + time[2]
  end
  local value = redis.pcall("GET", key)
  local unit, leak = token + 0, own + 0
  local full = capacity * unit
  local debt, t, usual = 0, now, true
  if value then
    local state_time, written, rate
    if #value == 32 then debt, state_time, written, rate = struct.unpack("<dddd", value) end
    usual = written == unit and rate == leak and debt >= 0 and debt <= full and state_time >= 0
    if usual then
      if state_time <= now then
        debt = debt - (now - state_time) * leak
        if debt < 0 then debt = 0 end
      else
        usual = state_time - now <= window + 0
        if debt > 0 then t = state_time end
      end
    end
  end
  if usual then
    if unit <= full - debt then
      local charged = debt + unit
      local ttl = ceil((t + ceil(charged / leak) - now) / 1000) + buffer
      if ttl < least + 0 then ttl = least end
      call("SET", key, pack("<dddd", charged, t, unit, leak), "PX", string.format("%d", ttl))
    else
      if call("PTTL", key) == -1 then call("PEXPIRE", key, math.max(ceil(window / 500) + buffer, least + 0)) end
    end
    return pack("<ddd", now, debt, t - now)
  end
end
if kind == "b" and not ARGV[3] then
  local call, keys, pack, unpack_struct, ceil = redis.call, KEYS, struct.pack, struct.unpack, math.ceil
  local now = ARGV[2]
  if now then
    now = now + 0
  else
    local time = call("TIME")
    now = time[1] * 1000000 + time[2]
  end
  local count, values = #keys, call("MGET", unpack(keys))
  local window, unit, leak = window + 0, token + 0, own + 0
  local full = capacity * unit
  local reply, usual = { now }, true
  for i = 1, count do
    local value, debt, ahead = values[i], 0, 0
    if value then
      local time, written, rate = 0, 0, 0
      if #value == 32 then debt, time, written, rate = unpack_struct("<dddd", value) end
      ahead = time - now
      if not (written == unit and rate == leak and debt >= 0 and debt <= full and time >= 0 and ahead <= window) then
        usual = false
        break
      end
      if ahead <= 0 then
        debt = debt + ahead * leak
        if debt < 0 then debt = 0 end
        ahead = 0
      elseif debt == 0 then
        ahead = 0
      end
    end
    reply[i * 2], reply[i * 2 + 1] = debt, ahead
  end
  if usual then
    local buffer, least, format = buffer + 0, least + 0, string.format
    for i = 1, count do
      local debt, ahead = reply[i * 2], reply[i * 2 + 1]
      if unit <= full - debt then
        debt = debt + unit
        local state = pack("<dddd", debt, now + ahead, unit, leak)
        local ttl = ceil((ahead + ceil(debt / leak)) / 1000) + buffer
        if ttl < least then ttl = least end
        ttl = format("%d", ttl)
        if values[i] then
          call("SET", keys[i], state, "PX", ttl)
        elseif not call("SET", keys[i], state, "PX", ttl, "NX") then
          reply[i * 2] = -1
        end
      else
        if call("PTTL", keys[i]) == -1 then call("PEXPIRE", keys[i], math.max(ceil(window / 500) + buffer, least)) end
      end
    end
    return pack("<" .. string.rep("d", #reply), unpack(reply))
  end
end
local blob, reply_head = ARGV[2], ""
local function uniform(kind, window, unit, capacity, buffer, least, own)
  local call, pack_struct, unpack_struct = redis.call, struct.pack, struct.unpack
  local ceil, floor, byte, format = math.ceil, math.floor, string.byte, string.format
  local is_bucket, is_counter = kind == "b", kind == "c"
  local now = tonumber(ARGV[2] or "")
  if not now then
    local time = call("TIME")
    now = time[1] * 1000000 + time[2]
  end
  local order, full, keys, most = ARGV[3], capacity * unit, #KEYS, 9007199254740992
  local values = call("MGET", unpack(KEYS))
  local used, times, oldest, weights, changes = {}, {}, {}, {}, {}
  local fresh = now
  if is_counter then fresh = floor(now / own) * own elseif not is_bucket and own ~= 1 then fresh = floor(now / window) * window end
  for i = 1, keys do
    local value = values[i]
    local amount, t, old, weight = 0, fresh, 0, 0
    if is_bucket then
      if value then
        if #value ~= 32 then return nil end
        local time, written, rate
        amount, time, written, rate = unpack_struct("<dddd", value)
        if not (written == unit and rate == own and amount >= 0 and amount <= full and time >= 0 and time - now <= window) then return nil end
        if time <= now then
          amount = amount - (now - time) * own
          if amount < 0 then amount = 0 end
        elseif amount > 0 then
          t = time
        end
      end
    elseif is_counter then
      if value then
        if #value ~= 32 then return nil end
        local written, newest
        t, written, newest, old = unpack_struct("<dddd", value)
        if not (written == own and t >= 0 and t - now <= window) then return nil end
        if not (newest >= 0 and newest < most and old >= 0 and old < most) then return nil end
        if now >= t + own then
          local steps = (fresh - t) / own
          if steps == 1 then old, newest = newest, 0 elseif steps >= 2 then old, newest = 0, 0 else return nil end
          t = fresh
        elseif t > now and newest == 0 and old == 0 then
          return nil
        end
        if old ~= 0 then
          local product = old * (own - math.max(now - t, 0))
          if product >= most then return nil end
          weight = floor(product / own)
        end
        amount = weight + newest
      end
      oldest[i], weights[i] = old, weight
    elseif value then
      if #value ~= 24 then return nil end
      local start, written
      start, written, amount = unpack_struct("<ddd", value)
      if not (written == window and amount >= 0 and amount < most and start >= 0 and start - now <= window) then return nil end
      if now >= start + window then amount = 0 elseif amount > 0 then t = start end
    end
    used[i], times[i] = amount, t
  end
  local checks, width = keys, 2
  if order then checks = #order / 2 end
  if is_counter then width = 3 end
  local reply, at = { now }, 2
  for c = 1, checks do
    local i, cost = c, 1
    if order then
      i, cost = byte(order, c * 2 - 1, c * 2)
      i, cost = i - 32, cost - 32
    end
    local amount = used[i]
    if is_counter then
      reply[at], reply[at + 1], reply[at + 2] = amount - weights[i], times[i] - now, oldest[i]
    else
      reply[at], reply[at + 1] = amount, times[i] - now
    end
    at = at + width
    if cost <= capacity and cost * unit <= full - amount then
      if cost > 0 then
        used[i] = amount + cost * unit
        changes[i] = 1
      end
    elseif cost > 0 and not changes[i] then
      changes[i] = 0
    end
  end
  local foreign
  for i = 1, keys do
    if changes[i] == 1 then
      local amount, t = used[i], times[i]
      local value, expires
      if is_bucket then
        value, expires = pack_struct("<dddd", amount, t, unit, own), t + ceil(amount / own)
      elseif is_counter then
        value, expires = pack_struct("<dddd", t, own, amount - weights[i], oldest[i]), t + 2 * own
      else
        value, expires = pack_struct("<ddd", t, window, amount), t + window
      end
      local ttl = ceil((expires - now) / 1000) + buffer
      if ttl < least then ttl = least end
      ttl = format("%d", ttl)
      if values[i] then
        call("SET", KEYS[i], value, "PX", ttl)
      elseif not call("SET", KEYS[i], value, "PX", ttl, "NX") then
        foreign = foreign or {}
        foreign[i] = true
      end
    elseif changes[i] == 0 and values[i] then
      if call("PTTL", KEYS[i]) == -1 then call("PEXPIRE", KEYS[i], math.max(ceil(window / 500) + buffer, least)) end
    end
  end
  if foreign then
    for c = 1, checks do
      local i = c
      if order then i = byte(order, c * 2 - 1) - 32 end
      if foreign[i] then reply[2 + (c - 1) * width] = -1 end
    end
  end
  return pack_struct("<" .. string.rep("d", #reply), unpack(reply))
end
if kind then
  local order, window, unit, capacity = ARGV[3], tonumber(window), tonumber(token), tonumber(capacity)
  local buffer, least, own = tonumber(buffer), tonumber(least), tonumber(own)
  local reply = uniform(kind, window, unit, capacity, buffer, least, own)
  if reply then return reply end
  local checks, place, x, y = #KEYS, 1, unit, own
  if order then checks = #order / 2 end
  if kind == "w" then place = 2 elseif kind == "c" then place, x, y = 3, own, 1 end
  local parts = { struct.pack("<ddHBdddddH", buffer, least, 1, place, capacity, window, capacity, x, y, checks) }
  for c = 1, checks do
    local i, cost = c + 32, 33
    if order then i, cost = string.byte(order, c * 2 - 1, c * 2) end
    parts[c + 1] = struct.pack("<BdHHHd", 0, tonumber(ARGV[2] or "") or -1, 1, i - 32, 1, cost - 32)
  end
  blob, reply_head = table.concat(parts), struct.pack("<d", -1)
end
local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min
local MAX_EXACT = 9007199254740992
local SPLITTER = 134217729
local function product_error(a, b, product)
  local t = a * SPLITTER
  local a_high = t - (t - a)
  local a_low = a - a_high
  t = b * SPLITTER
  local b_high = t - (t - b)
  local b_low = b - b_high
  return a_low * b_low - (product - a_high * b_high - a_low * b_high - a_high * b_low)
end
local function difference_of_products(a, b, c, d)
  local ab = a * b
  local cd = c * d
  return ab - cd + (product_error(a, b, ab) - product_error(c, d, cd))
end
local function mul_div_floor(a, b, c)
  local product = a * b
  local quotient = floor(product / c)
  if product < MAX_EXACT then return quotient end
  local rest = difference_of_products(a, b, quotient, c)
  while rest < 0 do
    quotient = quotient - 1
    rest = rest + c
  end
  while rest >= c do
    quotient = quotient + 1
    rest = rest - c
  end
  return quotient
end
local function mul_div_ceil(a, b, c)
  local product = a * b
  if product < MAX_EXACT then return ceil(product / c) end
  local quotient = mul_div_floor(a, b, c)
  if difference_of_products(a, b, quotient, c) > 0 then return quotient + 1 end
  return quotient
end
local function floor_to(time, size)
  return floor(time / size) * size
end
local bucket = { format = "<dddd", cells = 4 }
function bucket.settle(policy, state, now)
  local debt, time, token, leak = state[1], state[2], state[3], state[4]
  local ahead = time - now > policy.window
  local foreign = ahead or (debt ~= 0 and (token ~= policy.x or leak ~= policy.y))
  local t = time
  if time <= now or ahead or debt == 0 then t = now end
  local kept
  local full = policy.capacity * policy.x
  if debt ~= 0 and (token ~= policy.x or leak ~= policy.y) then
    if t > time then debt = max(debt - (t - time) * leak, 0) end
    if token ~= policy.x then
      if debt / token * policy.x >= MAX_EXACT then debt = MAX_EXACT else debt = mul_div_ceil(debt, policy.x, token) end
    end
    kept = debt
    debt = min(debt, full)
  elseif debt ~= 0 then
    if debt > full then debt = full end
    if t > time then debt = max(debt - (t - time) * policy.y, 0) end
  end
  return { debt, t, policy.x, policy.y, kept = kept }, foreign
end
function bucket.fits(policy, state, cost)
  return cost <= policy.capacity and cost * policy.x <= policy.capacity * policy.x - state[1]
end
function bucket.charge(policy, state, cost)
  state[1] = (state.kept or state[1]) + cost * policy.x
  state.kept = nil
end
function bucket.used(policy, state)
  return state[1]
end
function bucket.refund(policy, state, cost)
  state[1] = max(0, (state.kept or state[1]) - cost * policy.x)
  state.kept = nil
end
function bucket.expires(policy, state)
  return state[2] + ceil(min(state[1], policy.capacity * policy.x) / policy.y)
end
local fixed_window = { format = "<ddd", cells = 3 }
local function window_start(policy, time)
  if policy.y == 1 then return time end
  return floor_to(time, policy.window)
end
function fixed_window.settle(policy, state, now)
  local start, length, count = state[1], state[2], state[3]
  local window = policy.window
  if now >= start + length then count = 0 end
  if count == 0 then return { window_start(policy, now), window, 0 }, false end
  if start - now > window then return { window_start(policy, now), window, count }, true end
  if length == window then return { start, window, count }, false end
  local t = max(start, now)
  if policy.y ~= 1 then
    start = floor_to(t, window)
  elseif t - start >= window then
    start = t
  end
  return { start, window, count }, true
end
function fixed_window.fits(policy, state, cost)
  return cost <= policy.limit - state[3]
end
function fixed_window.charge(policy, state, cost)
  state[3] = state[3] + cost
end
function fixed_window.used(policy, state)
  return state[3]
end
function fixed_window.refund(policy, state, cost)
  state[3] = max(0, state[3] - cost)
end
function fixed_window.expires(policy, state)
  return state[1] + state[2]
end
local sliding_window_counter = {}
local function counter_used(last, size, state, t)
  local elapsed = t - state[1]
  local steps = 0
  if elapsed >= size then steps = floor(elapsed / size) end
  if steps > last then return 0 end
  local offset = max(elapsed - steps * size, 0)
  local oldest = state[3 + last - steps]
  local used = 0
  if oldest ~= 0 then used = mul_div_floor(oldest, size - offset, size) end
  for i = 0, last - steps - 1 do used = used + state[3 + i] end
  return used
end
local function counter_time(policy, start, now)
  if start <= now or start - now > policy.window then return now end
  return start
end
local function counter_unused(last, state)
  for i = 0, last do
    if state[3 + i] ~= 0 then return false end
  end
  return true
end
function sliding_window_counter.settle(policy, state, now)
  local size, last = policy.x, policy.y
  local start, written = state[1], state[2]
  local settled = {}
  local foreign = start - now > policy.window
  local unused = start > now and counter_unused(last, state)
  if written ~= size or foreign or unused then
    local t = now
    if not unused then t = counter_time(policy, start, now) end
    local used = 0
    if written ~= 0 then used = counter_used(last, written, state, t) end
    settled[1], settled[2], settled[3] = floor_to(t, size), size, used
    for i = 1, last do settled[3 + i] = 0 end
    return settled, foreign or (written ~= size and written ~= 0)
  end
  local steps = 0
  local new_start = start
  if now >= start + size then
    new_start = floor_to(now, size)
    steps = min((new_start - start) / size, last + 1)
  end
  settled[1], settled[2] = new_start, size
  for i = 0, last do
    if i < steps then settled[3 + i] = 0 else settled[3 + i] = state[3 + i - steps] end
  end
  return settled, false
end
function sliding_window_counter.used(policy, state, now)
  return counter_used(policy.y, policy.x, state, counter_time(policy, state[1], now))
end
function sliding_window_counter.fits(policy, state, cost, now)
  return cost <= policy.limit - sliding_window_counter.used(policy, state, now)
end
function sliding_window_counter.charge(policy, state, cost)
  state[3] = state[3] + cost
end
function sliding_window_counter.refund(policy, state, cost)
  for i = 3, 3 + policy.y do
    local taken = min(state[i], cost)
    state[i] = state[i] - taken
    cost = cost - taken
  end
end
function sliding_window_counter.expires(policy, state)
  return state[1] + (policy.y + 1) * state[2]
end
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
local block = { format = "<dd", cells = 2 }
function block.settle(policy, state, now)
  local until_then, length = state[1], state[2]
  if until_then - now > length then return { now + length, length }, true end
  return { until_then, length }, false
end
function block.fits(policy, state, cost, now)
  return now >= state[1]
end
function block.charge(policy, state, cost, now)
  if cost > 0 then state[1], state[2] = now + cost, cost end
end
function block.used()
  return 0
end
function block.refund()
end
function block.expires(policy, state)
  return state[1]
end
local kinds = { bucket, fixed_window, sliding_window_counter, sliding_window_log, block }
local unpack_struct, pack_struct = struct.unpack, struct.pack
local buffer, least, policy_count, at = unpack_struct("<ddH", blob)
local policies = {}
for i = 1, policy_count do
  local kind, limit, window, capacity, x, y
  kind, limit, window, capacity, x, y, at = unpack_struct("<Bddddd", blob, at)
  local algorithm = kinds[kind]
  local policy = { algorithm = algorithm, limit = limit, window = window, capacity = capacity, x = x, y = y }
  policy.cells = algorithm.cells or y + 3
  policy.format = algorithm.format or ("<" .. string.rep("d", policy.cells))
  policies[i] = policy
end
local server_time
local function time_of_server()
  if server_time == nil then
    local time = redis.call("TIME")
    server_time = tonumber(time[1]) * 1000000 + tonumber(time[2])
  end
  return server_time
end
local values = redis.call("MGET", unpack(KEYS))
local states, writes, bad = {}, {}, {}
local function state_of(index, policy)
  local state = states[index]
  if state ~= nil then return state end
  local value = values[index]
  if not value then
    state = {}
    for i = 1, policy.cells do state[i] = 0 end
  else
    if #value == policy.cells * 8 then state = { unpack_struct(policy.format, value) } else bad[index], state = true, {} end
    for i = 1, policy.cells do
      if not (state[i] and state[i] >= 0 and state[i] < math.huge) then bad[index], state[i] = true, 0 end
    end
  end
  states[index] = state
  return state
end
local function time_to_live(expires, now)
  return max(ceil((expires - now) / 1000) + buffer, least)
end
local function repair(key, expires, now)
  if redis.call("PTTL", key) == -1 then redis.call("PEXPIRE", key, time_to_live(expires, now)) end
end
local function commit(charge, cost, now)
  local policy, index = charge.policy, charge.index
  local algorithm = policy.algorithm
  if algorithm.is_log then
    local ttl = time_to_live(algorithm.expires(policy, charge.settled), now)
    if charge.settled.last == nil or charge.settled.ahead then
      redis.call("ZADD", KEYS[index], "XX", 0, "")
      redis.call("PEXPIRE", KEYS[index], ttl)
    end
    algorithm.charge(policy, KEYS[index], charge.settled, cost)
    redis.call("PEXPIRE", KEYS[index], ttl)
    return
  end
  local state = charge.settled
  if charge.first ~= nil then state = algorithm.settle(policy, states[index], now) end
  algorithm.charge(policy, state, cost, now)
  states[index] = state
  writes[index] = { policy = policy, now = now }
end
local results = {}
local function run(operation, now, charges)
  local allowed, readable, foreign = true, true, false
  for i = 1, #charges do
    local charge = charges[i]
    local policy, index = charge.policy, charge.index
    local algorithm = policy.algorithm
    if algorithm.is_log then
      charge.settled, charge.foreign = algorithm.settle(policy, KEYS[index], now)
      if charge.settled == nil then bad[index] = true end
    else
      charge.settled, charge.foreign = algorithm.settle(policy, state_of(index, policy), now)
      local unseen = #charges > 1 and charge.cost > 0 and operation ~= 1 and not values[index] and not writes[index]
      if unseen and redis.call("EXISTS", KEYS[index]) == 1 then bad[index] = true end
    end
    if charge.foreign and (charge.cost > 0 or algorithm == block) then foreign = true end
    if bad[index] then
      readable = false
    else
      local cost = charge.cost
      if cost > 0 then
        for j = 1, #charges do
          if j ~= i and charges[j].index == index then
            cost = cost + charges[j].cost
            if j < i and charges[j].cost > 0 then charge.first = j end
          end
        end
      end
      if not algorithm.fits(policy, charge.settled, cost, now) then allowed = false end
      if algorithm.is_log then
        charge.reply = algorithm.reply(policy, KEYS[index], charge.settled, cost, now)
      else
        charge.reply = pack_struct(policy.format, unpack(charge.settled))
      end
    end
  end
  if not readable then return -1 end
  if operation == 1 then return allowed and 1 or foreign and 2 or 0 end
  local refunded = {}
  for i = 1, #charges do
    local charge = charges[i]
    local policy, index, cost = charge.policy, charge.index, charge.cost
    local algorithm = policy.algorithm
    if charge.first ~= nil and algorithm.is_log then charge.settled = algorithm.settle(policy, KEYS[index], now) end
    if operation == 3 and cost > 0 then
      if algorithm.is_log then
        if charge.settled.used > 0 then
          algorithm.refund(policy, KEYS[index], charge.settled, cost)
          redis.call("PEXPIRE", KEYS[index], time_to_live(algorithm.expires(policy, charge.settled), now))
        end
      else
        local state = charge.settled
        if refunded[index] then state = algorithm.settle(policy, states[index], now) end
        if algorithm.used(policy, state, now) > 0 then
          algorithm.refund(policy, state, cost)
          refunded[index], states[index] = true, state
          writes[index] = { policy = policy, now = now }
        end
      end
    elseif operation ~= 3 and cost > 0 and (allowed or operation == 2) then
      commit(charge, cost, now)
    elseif operation == 0 and charge.foreign and (cost > 0 or algorithm == block) then
      commit(charge, 0, now)
    elseif operation == 0 and cost > 0 and not writes[index] then
      repair(KEYS[index], now + 2 * policy.window, now)
    elseif operation == 0 and algorithm == block and not block.fits(policy, charge.settled, cost, now) then
      repair(KEYS[index], block.expires(policy, charge.settled), now)
    end
  end
  return allowed and 1 or 0
end
local check_count
check_count, at = unpack_struct("<H", blob, at)
for c = 1, check_count do
  local operation, now, charge_count
  operation, now, charge_count, at = unpack_struct("<BdH", blob, at)
  if now < 0 then now = time_of_server() end
  local charges = {}
  for i = 1, charge_count do
    local index, policy, cost
    index, policy, cost, at = unpack_struct("<HHd", blob, at)
    charges[i] = { index = index, policy = policies[policy], cost = cost }
  end
  results[c] = { now = now, allowed = run(operation, now, charges), charges = charges }
end
for index, write in pairs(writes) do
  local policy, state = write.policy, states[index]
  local value = pack_struct(policy.format, unpack(state))
  local ttl = time_to_live(policy.algorithm.expires(policy, state), write.now)
  if values[index] then
    redis.call("SET", KEYS[index], value, "PX", ttl)
  elseif not redis.call("SET", KEYS[index], value, "PX", ttl, "NX") then
    bad[index] = true
  end
end
local reply = {}
for c = 1, #results do
  local result = results[c]
  local allowed = result.allowed
  for i = 1, #result.charges do
    if bad[result.charges[i].index] then allowed = -1 end
  end
  reply[#reply + 1] = pack_struct("<dd", result.now, allowed)
  if allowed >= 0 then
    for i = 1, #result.charges do reply[#reply + 1] = result.charges[i].reply end
  end
end
return reply_head .. table.concat(reply)
`

export const HEARTBEAT = `local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local patience = tonumber(ARGV[2])
if patience > 0 then
  redis.call("ZADD", KEYS[1], "XX", now, ARGV[1])
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
`
