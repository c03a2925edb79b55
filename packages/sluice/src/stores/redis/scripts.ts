// Generated from scripts/*.lua by `npm run generate`. DO NOT EDIT.

export const SCRIPT_DIGEST = "68ff35eb1be95fb7e1b9e17053ecac4d309c24cf"

export const SCRIPT = `local call, read, write = redis.call, struct.unpack, struct.pack
local ceil = math.ceil
local message = cjson.decode(ARGV[1])
local expiry_buffer, min_expiry, policy_count = message[1], message[2], message[3]
local is_compact = policy_count == 0
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
local function time_to_live(expires, now)
  local ttl = ceil((expires - now) / 1000) + expiry_buffer
  if ttl < min_expiry then ttl = min_expiry end
  return string.format("%d", ttl)
end
local function repair(index, expires, now)
  if call("PTTL", KEYS[index]) == -1 then call("PEXPIRE", KEYS[index], time_to_live(expires, now)) end
end
local COMPACT_HEAD = 10
local function run_compact()
  local keys, now = KEYS, time_or_server(message[4])
  local window, capacity, token, leak = message[7], message[8], message[9], message[10]
  local full = capacity * token
  local states, missing = { now }, nil
  for index = 1, #keys do
    local value, debt, t = values[index], 0, now
    if value then
      if #value ~= 40 then return nil end
      local time, _, its_token, its_leak
      debt, time, _, its_token, its_leak = read("<ddddd", value)
      if its_token ~= token or its_leak ~= leak then return nil end
      if not (debt >= 0 and debt <= full and time >= 0 and time - now <= window) then return nil end
      if time <= now then
        debt = debt - (now - time) * leak
        if debt < 0 then debt = 0 end
      elseif debt > 0 then
        t = time
      end
    else
      missing = missing or {}
      missing[#missing + 1] = keys[index]
    end
    states[index * 2], states[index * 2 + 1] = debt, t
  end
  if missing and call("EXISTS", unpack(missing)) > 0 then return nil end
  local has_order = #message > COMPACT_HEAD
  local reply = has_order and { now } or states
  local charged = {}
  for c = 1, has_order and (#message - COMPACT_HEAD) / 2 or #keys do
    local index, cost = c, 1
    if has_order then index, cost = message[COMPACT_HEAD + c * 2 - 1], message[COMPACT_HEAD + c * 2] end
    local debt = charged[index] or states[index * 2]
    if has_order then reply[c * 2], reply[c * 2 + 1] = debt, states[index * 2 + 1] end
    if cost > 0 then
      if cost <= capacity and cost * token <= full - debt then
        charged[index] = debt + cost * token
      elseif not charged[index] then
        charged[index] = false
      end
    end
  end
  for index = 1, #keys do
    local debt, time = charged[index], states[index * 2 + 1]
    if debt then
      call("SET", keys[index], write("<ddddd", debt, time, capacity, token, leak), "PX", time_to_live(time + ceil(debt / leak), now))
    elseif debt == false then
      repair(index, now + 2 * window, now)
    end
  end
  return write("<" .. string.rep("d", #reply), unpack(reply))
end
if is_compact then
  local reply = run_compact()
  if reply then return reply end
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
local function bucket()
  local function counted(policy, debt, capacity)
    if capacity == policy.capacity then return debt end
    return min(debt, policy.capacity * policy.x)
  end
  local function drained(debt, elapsed, leak)
    if elapsed <= 0 then return debt end
    return max(debt - elapsed * leak, 0)
  end
  local function settle(policy, state, now)
    local debt, time, capacity, token, leak = state[1], state[2], state[3], state[4], state[5]
    local x, y = policy.x, policy.y
    local ahead = time - now > policy.window
    local t = time
    if time <= now or ahead or debt == 0 then t = now end
    local other = debt ~= 0 and (token ~= x or leak ~= y)
    if other then
      debt = drained(debt, t - time, leak)
      if token ~= x then
        if debt / token * x >= MAX_EXACT then debt = MAX_EXACT else debt = mul_div_ceil(debt, x, token) end
      end
      state.whole_debt, state.whole_capacity = debt, capacity
      debt = counted(policy, debt, capacity)
    else
      debt = drained(counted(policy, debt, capacity), t - time, y)
    end
    state[1], state[2], state[3], state[4], state[5] = debt, t, policy.capacity, x, y
    return ahead or other
  end
  local function restore_whole(state)
    if state.whole_debt then state[1], state[3] = state.whole_debt, state.whole_capacity end
  end
  local function fits(policy, state, cost)
    return cost <= policy.capacity and cost * policy.x <= policy.capacity * policy.x - state[1]
  end
  local function room(policy, state)
    return floor((policy.capacity * policy.x - state[1]) / policy.x)
  end
  local function charge(policy, state, cost)
    if cost == 0 then restore_whole(state) else state[1] = min(state[1] + cost * policy.x, MAX_EXACT) end
  end
  local function undrained(policy, cost, elapsed)
    if elapsed <= 0 then return cost end
    if elapsed / policy.x * policy.y >= cost then return 0 end
    return max(cost - mul_div_ceil(elapsed, policy.y, policy.x), 0)
  end
  local function refund(policy, state, cost, charged_at)
    if charged_at >= 0 then cost = undrained(policy, cost, state[2] - charged_at) end
    restore_whole(state)
    state[1] = max(0, state[1] - cost * policy.x)
  end
  local function used(policy, state)
    return state[1]
  end
  local function expires(policy, state)
    return state[2] + ceil(state[1] / policy.y)
  end
  return { cells = 5, settle = settle, fits = fits, room = room, charge = charge, refund = refund, used = used, expires = expires }
end
local function fixed_window()
  local function window_between(boundaries, time, usual)
    local count = #boundaries
    for i = count - 1, 1, -1 do
      if time >= boundaries[i] and time < boundaries[i + 1] then
        return boundaries[i], boundaries[i + 1] - boundaries[i]
      end
    end
    local edge = boundaries[time < boundaries[1] and 1 or count]
    local start = edge + floor_to(time - edge, usual)
    return max(0, start), start + usual - max(0, start)
  end
  local function window_at(policy, time)
    if policy.boundaries then return window_between(policy.boundaries, time, policy.window) end
    if policy.y == 1 then return time, policy.window end
    return floor_to(time, policy.window), policy.window
  end
  local function settle(policy, state, now)
    local start, length, count = state[1], state[2], state[3]
    local window = policy.window
    local stale = false
    if now >= start + length then count = 0 end
    if count == 0 then
      start, length = window_at(policy, now)
    elseif start - now > window then
      start, length = window_at(policy, now)
      stale = true
    else
      local t = max(start, now)
      local keeps_start = length == window or (policy.y == 1 and t - start < window)
      local new_start, new_length = start, window
      if policy.boundaries or not keeps_start then new_start, new_length = window_at(policy, t) end
      stale = new_start ~= start or new_length ~= length
      start, length = new_start, new_length
    end
    state[1], state[2], state[3] = start, length, count
    return stale
  end
  local function fits(policy, state, cost)
    return cost <= policy.limit - state[3]
  end
  local function room(policy, state)
    return policy.limit - state[3]
  end
  local function charge(policy, state, cost)
    state[3] = state[3] + cost
  end
  local function refund(policy, state, cost, charged_at)
    if charged_at >= 0 and charged_at < state[1] then return end
    state[3] = max(0, state[3] - cost)
  end
  local function used(policy, state)
    return state[3]
  end
  local function expires(policy, state)
    return state[1] + state[2]
  end
  return { cells = 3, settle = settle, fits = fits, room = room, charge = charge, refund = refund, used = used, expires = expires }
end
local function sliding_window_counter()
  local function used_at(last, size, state, t)
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
  local function time_of(policy, start, now)
    if start <= now or start - now > policy.window then return now end
    return start
  end
  local function is_unused(last, state)
    for i = 0, last do
      if state[3 + i] ~= 0 then return false end
    end
    return true
  end
  local function settle(policy, state, now)
    local size, last = policy.x, policy.y
    local start, written = state[1], state[2]
    local ahead = start - now > policy.window
    local unused = start > now and is_unused(last, state)
    if written ~= size or ahead or unused then
      local t = now
      if not unused then t = time_of(policy, start, now) end
      local used = 0
      if written ~= 0 then used = used_at(last, written, state, t) end
      state[1], state[2], state[3] = floor_to(t, size), size, used
      for i = 1, last do state[3 + i] = 0 end
      return ahead or (written ~= size and written ~= 0)
    end
    if now >= start + size then
      local new_start = floor_to(now, size)
      local steps = min((new_start - start) / size, last + 1)
      state[1] = new_start
      for i = last, steps, -1 do state[3 + i] = state[3 + i - steps] end
      for i = 0, steps - 1 do state[3 + i] = 0 end
    end
    return false
  end
  local function used(policy, state, now)
    return used_at(policy.y, policy.x, state, time_of(policy, state[1], now))
  end
  local function fits(policy, state, cost, now)
    return cost <= policy.limit - used(policy, state, now)
  end
  local function room(policy, state, now)
    return policy.limit - used(policy, state, now)
  end
  local function charge(policy, state, cost)
    state[3] = state[3] + cost
  end
  local function refund(policy, state, cost, charged_at)
    local first, last = 0, policy.y
    if charged_at >= 0 then
      first = (state[1] - floor_to(charged_at, policy.x)) / policy.x
      if first < 0 then return end
      last = min(last, first)
    end
    for i = 3 + first, 3 + last do
      local taken = min(state[i], cost)
      state[i] = state[i] - taken
      cost = cost - taken
    end
  end
  local function expires(policy, state)
    return state[1] + (policy.y + 1) * state[2]
  end
  return { settle = settle, fits = fits, room = room, charge = charge, refund = refund, used = used, expires = expires }
end
local function sliding_window_log()
  local WRAP = 4503599627370496
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
  local function summary(policy, key, log, cost, now)
    local frees = 0
    cost = max(cost, 1)
    if cost <= policy.limit and not fits(policy, log, cost) then frees = frees_at(policy, key, log, cost, now) end
    return { log.used, log.newest, frees }
  end
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
local function concurrency()
  local MAX_UNITS = 4503599627370496
  local function text(number)
    return string.format("%.0f", number)
  end
  local function units_of(member)
    return tonumber(string.match(member, "^(%d+):"))
  end
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
  local function frees_at(policy, key, holds, cost, now)
    local excess = cost - (policy.limit - holds.used)
    local after = "(" .. text(now)
    if holds.extra == 0 then
      return tonumber(redis.call("ZRANGEBYSCORE", key, after, "+inf", "WITHSCORES", "LIMIT", text(excess - 1), 1)[2])
    end
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
  local function summary(policy, key, holds, cost, now)
    local frees = 0
    cost = max(cost, 1)
    if cost <= policy.limit and not fits(policy, holds, cost) then frees = frees_at(policy, key, holds, cost, now) end
    return { holds.used, holds.newest, frees }
  end
  local function add_extra(key, units)
    if units ~= 0 and tonumber(redis.call("ZINCRBY", key, text(-units), "extra")) == 0 then redis.call("ZREM", key, "extra") end
  end
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
  local function charge(policy, key, holds, cost, now, id)
    local last = prune(policy, key, holds, now)
    local units = min(cost, MAX_UNITS - holds.used)
    if units <= 0 then return end
    add_extra(key, units - 1)
    redis.call("ZADD", key, text(end_of_new(policy, last, now)), text(units) .. ":" .. id)
  end
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
local function block()
  local function settle(policy, state, now)
    local length = state[2]
    local stale = state[1] - now > length
    if stale then state[1] = now + length end
    return stale
  end
  local function fits(policy, state, cost, now)
    return now >= state[1]
  end
  local function charge(policy, state, cost, now)
    if cost > 0 then state[1], state[2] = now + cost, cost end
  end
  local function refund()
  end
  local function used()
    return 0
  end
  local function expires(policy, state)
    local forgotten = state[5] > 0 and state[1] + policy.forget or state[1]
    local counted = state[4] > 0 and state[3] + policy.window or 0
    return max(forgotten, counted)
  end
  local function length_of(policy, blocks)
    local length = policy.capacity
    for i = 1, blocks do
      local longer = min(floor(length * policy.x), policy.y)
      if longer == length then break end
      length = longer
    end
    return length
  end
  local function penalize(policy, state, now)
    if state[1] > now then return end
    local since, denials = state[3], state[4]
    if denials == 0 or now - since >= policy.window then since, denials = now, 0 end
    if since - now > policy.window then since = now end
    denials = denials + 1
    local begun_by
    if denials >= policy.limit then
      local blocks = now - state[1] >= policy.forget and 0 or state[5]
      local length = length_of(policy, blocks)
      state[1], state[2], state[5] = now + length, length, blocks + 1
      begun_by = denials
      since, denials = 0, 0
    end
    state[3], state[4] = since, denials
    return begun_by
  end
  return {
    is_block = true, cells = 5,
    settle = settle, fits = fits, charge = charge, refund = refund, used = used, expires = expires, penalize = penalize,
  }
end
local CHECK, DECIDE, CHARGE, REFUND, RELEASE, EXTEND, SETTLE = 0, 1, 2, 3, 4, 5, 6
local ADD, FILL, CLAIM = -2, -3, -4
local algorithms = { bucket, fixed_window, sliding_window_counter, sliding_window_log, block, concurrency }
local function policy_at(place)
  local kind, limit, window, capacity, x, y = unpack(message, place, place + 5)
  local algorithm = algorithms[kind]()
  local cells = algorithm.cells or y + 3
  local boundaries, forget
  place = place + 6
  if algorithm.is_block then
    forget = message[place]
    place = place + 1
  end
  if kind == 2 and y == 2 then
    boundaries = { unpack(message, place, place + x - 1) }
    place = place + x
  end
  return {
    algorithm = algorithm, limit = limit, window = window, capacity = capacity, x = x, y = y, boundaries = boundaries,
    forget = forget,
    cells = cells, format = "<" .. string.rep("d", cells),
  }, place
end
local function parse_state(value, policy)
  local cells, state = policy.cells, {}
  if not value then
    for i = 1, cells do state[i] = 0 end
    return state
  end
  if #value ~= cells * 8 then return nil end
  state = { read(policy.format, value) }
  for i = 1, cells do
    local cell = state[i]
    if not (cell >= 0 and cell < math.huge) then return nil end
  end
  return state
end
local states, changed_by, changed_at, is_unreadable = {}, {}, {}, {}
local function settled_copy(index, policy, now)
  if states[index] == nil then
    states[index] = parse_state(values[index], policy)
    if states[index] == nil then
      is_unreadable[index] = true
      states[index] = parse_state(false, policy)
    end
  end
  local state = { unpack(states[index]) }
  return state, policy.algorithm.settle(policy, state, now)
end
local index_of, policy_of, cost_of, hold_of, settled, is_stale, is_repeated = {}, {}, {}, {}, {}, {}, {}
local charged_at = {}
local penalized_of, is_denied, reply_at = {}, {}, {}
local reply, length = { -1 }, 1
local function cost_on_key(i, charge_count)
  local sum = cost_of[i]
  is_repeated[i] = false
  if sum == 0 then return 0 end
  for j = 1, charge_count do
    if j ~= i and index_of[j] == index_of[i] then
      sum = sum + cost_of[j]
      if j < i and cost_of[j] > 0 then is_repeated[i] = true end
    end
  end
  return sum
end
local function is_other_type(index)
  return not values[index] and not changed_by[index] and call("EXISTS", KEYS[index]) == 1
end
local function decide(operation, now, charge_count)
  local allowed, stale, readable = true, false, true
  for i = 1, charge_count do
    local index, policy = index_of[i], policy_of[i]
    local algorithm = policy.algorithm
    local state
    if algorithm.is_log then
      state, is_stale[i] = algorithm.settle(policy, KEYS[index], now)
      if state == nil then is_unreadable[index] = true end
    else
      state, is_stale[i] = settled_copy(index, policy, now)
      if cost_of[i] > 0 and operation ~= DECIDE and is_other_type(index) then is_unreadable[index] = true end
    end
    settled[i] = state
    if is_stale[i] and (cost_of[i] > 0 or algorithm.is_block) then stale = true end
    if is_unreadable[index] then
      readable = false
    else
      local cost = cost_on_key(i, charge_count)
      is_denied[i] = not algorithm.fits(policy, state, cost, now)
      if is_denied[i] then allowed = false end
      reply_at[i] = length
      if algorithm.is_log then state = algorithm.summary(policy, KEYS[index], state, cost, now) end
      for c = 1, policy.cells do reply[length + c] = state[c] end
      length = length + policy.cells
    end
  end
  return allowed, stale, readable
end
local function keep(index, policy, state, now)
  states[index], changed_by[index], changed_at[index] = state, policy, now
end
local function add_to_log(index, policy, log, cost, now, hold)
  local algorithm = policy.algorithm
  local ttl = time_to_live(algorithm.expires(policy, log, now), now)
  if log.last == nil or log.ahead then
    call("ZADD", KEYS[index], "XX", 0, "")
    call("PEXPIRE", KEYS[index], ttl)
  end
  algorithm.charge(policy, KEYS[index], log, cost, now, hold)
  call("PEXPIRE", KEYS[index], ttl)
end
local function add(i, cost, now)
  local index, policy, state = index_of[i], policy_of[i], settled[i]
  local algorithm = policy.algorithm
  if algorithm.is_log then return add_to_log(index, policy, state, cost, now, hold_of[i]) end
  if is_repeated[i] then state = settled_copy(index, policy, now) end
  algorithm.charge(policy, state, cost, now)
  keep(index, policy, state, now)
end
local function give_back(i, cost, now)
  local index, policy, state = index_of[i], policy_of[i], settled[i]
  local algorithm = policy.algorithm
  if algorithm.is_log then
    if state.used == 0 then return end
    algorithm.refund(policy, KEYS[index], state, cost, charged_at[i], now, hold_of[i])
    call("PEXPIRE", KEYS[index], time_to_live(algorithm.expires(policy, state, now), now))
    return
  end
  if is_repeated[i] then state = settled_copy(index, policy, now) end
  if algorithm.used(policy, state, now) == 0 then return end
  algorithm.refund(policy, state, cost, charged_at[i])
  keep(index, policy, state, now)
end
local function run_on_holds(operation, now, charge_count)
  local are_held = true
  for i = 1, charge_count do
    if not policy_of[i].algorithm.is_held(KEYS[index_of[i]], cost_of[i], now, hold_of[i]) then are_held = false end
  end
  for i = 1, charge_count do
    if operation == RELEASE then
      give_back(i, cost_of[i], now)
    elseif are_held then
      local policy, key = policy_of[i], KEYS[index_of[i]]
      policy.algorithm.extend(policy, key, settled[i], cost_of[i], now, hold_of[i])
      call("PEXPIRE", key, time_to_live(policy.algorithm.expires(policy, settled[i], now), now))
    end
  end
  return are_held
end
local function renew_settled(i, now)
  if not is_repeated[i] then return end
  local policy, index = policy_of[i], index_of[i]
  if policy.algorithm.is_log then settled[i] = policy.algorithm.settle(policy, KEYS[index], now) end
  if not policy.algorithm.is_log then settled[i] = settled_copy(index, policy, now) end
end
local function settle(now, charge_count)
  for i = 1, charge_count do
    local is_claim = charged_at[i] == CLAIM
    if is_claim and not policy_of[i].algorithm.is_held(KEYS[index_of[i]], cost_of[i], now, hold_of[i]) then return false end
  end
  for i = 1, charge_count do
    local policy, cost = policy_of[i], cost_of[i]
    renew_settled(i, now)
    if charged_at[i] == ADD then
      add(i, cost, now)
    elseif charged_at[i] == FILL then
      cost = min(cost, policy.algorithm.room(policy, settled[i], now))
      if cost > 0 then add(i, cost, now) end
    else
      give_back(i, cost, now)
    end
  end
  return true
end
local function penalize(now, charge_count)
  for i = 1, charge_count do
    local limit = penalized_of[i]
    if limit and cost_of[limit] > 0 and is_denied[limit] and not is_denied[i] and not is_other_type(index_of[i]) then
      local policy, state = policy_of[i], settled[i]
      local begun_by = policy.algorithm.penalize(policy, state, now)
      keep(index_of[i], policy, state, now)
      for c = 1, policy.cells do reply[reply_at[i] + c] = state[c] end
      if begun_by then reply[reply_at[i] + 3] = -begun_by end
    end
  end
end
local function run(operation, now, charge_count)
  local start = length
  length = start + 2
  local allowed, stale, readable = decide(operation, now, charge_count)
  reply[start + 1] = now
  if not readable then
    reply[start + 2], length = -1, start + 2
    return
  end
  reply[start + 2] = allowed and 1 or operation == DECIDE and stale and 2 or 0
  if operation == DECIDE then return end
  if operation == SETTLE then
    reply[start + 2] = settle(now, charge_count) and 1 or 0
    return
  end
  if operation >= RELEASE then
    reply[start + 2] = run_on_holds(operation, now, charge_count) and 1 or 0
    return
  end
  if operation == CHECK and not allowed then penalize(now, charge_count) end
  for i = 1, charge_count do
    local index, policy, cost = index_of[i], policy_of[i], cost_of[i]
    local algorithm = policy.algorithm
    if is_repeated[i] and algorithm.is_log then settled[i] = algorithm.settle(policy, KEYS[index], now) end
    if operation == REFUND then
      if cost > 0 then give_back(i, cost, now) end
    elseif cost > 0 and (allowed or operation == CHARGE) then
      add(i, cost, now)
    elseif operation == CHECK and is_stale[i] and (cost > 0 or algorithm.is_block) then
      add(i, 0, now)
    elseif operation == CHECK and cost > 0 and not changed_by[index] then
      repair(index, now + 2 * policy.window, now)
    elseif operation == CHECK and algorithm.is_block and not algorithm.fits(policy, settled[i], cost, now) then
      repair(index, algorithm.expires(policy, settled[i]), now)
    end
  end
end
if is_compact then
  policy_of[1] = policy_at(5)
  local has_order = #message > COMPACT_HEAD
  for c = 1, has_order and (#message - COMPACT_HEAD) / 2 or #KEYS do
    index_of[1], cost_of[1] = c, 1
    if has_order then index_of[1], cost_of[1] = message[COMPACT_HEAD + c * 2 - 1], message[COMPACT_HEAD + c * 2] end
    run(CHECK, time_or_server(message[4]), 1)
  end
else
  local policies, place = {}, 4
  for i = 1, policy_count do
    policies[i], place = policy_at(place)
  end
  local last = #message
  while place <= last do
    local operation, time, charge_count = message[place], message[place + 1], message[place + 2]
    place = place + 3
    for i = 1, charge_count do
      index_of[i], policy_of[i], cost_of[i] = message[place], policies[message[place + 1]], message[place + 2]
      penalized_of[i] = cost_of[i] < 0 and -cost_of[i]
      if cost_of[i] < 0 then cost_of[i] = 0 end
      place = place + 3
      if operation == REFUND or operation == SETTLE then
        charged_at[i] = message[place]
        place = place + 1
      end
      if policy_of[i].algorithm.is_hold then
        hold_of[i] = message[place] ~= "" and message[place]
        place = place + 1
      end
    end
    run(operation, time_or_server(time), charge_count)
  end
end
for index, policy in pairs(changed_by) do
  local state = states[index]
  local ttl = time_to_live(policy.algorithm.expires(policy, state), changed_at[index])
  call("SET", KEYS[index], write(policy.format, unpack(state)), "PX", ttl)
end
local MAX_PACKED = 4000
local parts = {}
for first = 1, length, MAX_PACKED do
  local last = min(first + MAX_PACKED - 1, length)
  parts[#parts + 1] = write("<" .. string.rep("d", last - first + 1), unpack(reply, first, last))
end
return table.concat(parts)
`

export const HEARTBEAT = `local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local expiry = tonumber(ARGV[2])
if expiry > 0 then
  redis.call("ZADD", KEYS[1], "XX", now, ARGV[1])
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
`

export const BLOCK_LIST = `local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local length, most = tonumber(ARGV[1]), tonumber(ARGV[3])
redis.call("ZREMRANGEBYSCORE", KEYS[1], "-inf", now)
if length == 0 then return redis.call("ZRANGE", KEYS[1], -most, -1) end
local ttl = math.max(length, redis.call("PTTL", KEYS[1]))
redis.call("ZADD", KEYS[1], "XX", now, ARGV[2])
redis.call("PEXPIRE", KEYS[1], ttl)
redis.call("ZADD", KEYS[1], now + length, ARGV[2])
redis.call("PEXPIRE", KEYS[1], ttl)
local excess = redis.call("ZCARD", KEYS[1]) - most
if excess > 0 then redis.call("ZREM", KEYS[1], unpack(redis.call("ZRANGE", KEYS[1], 0, excess - 1))) end
return 0
`
