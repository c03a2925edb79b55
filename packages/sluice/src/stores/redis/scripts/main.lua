-- Purpose: runs a list of checks, each a list of charges of any algorithm: decides all charges of a check, then charges all
-- of them or none. Checks run in order; a later one sees what an earlier one charged.
-- KEYS: every key the checks touch, once each.
-- ARGV[1]: "": see uniform.lua.
-- ARGV[2]: packed little-endian: double expiry buffer (ms), double least time to live (ms), ushort number of policies; per
--   policy: byte kind, doubles limit, window, capacity, x, y; ushort number of checks; per check: byte operation
--   (0 check, 1 decide, 2 charge, 3 refund), double time (negative: the server's), ushort number of charges; per charge:
--   ushort index into KEYS, ushort index of the policy, double cost.
-- Reply: one string of packed doubles; per check: its time, 1 allowed / 0 denied / 2 denied on a state that
--   a check would have settled / -1 a key of a foreign type; per charge,
--   unless -1, the state it was judged on.

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

-- What is known of each key: its state as cells, and when it expires if it was written.
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
    -- Somebody else's bytes may have the right length; NaN would end in an error for every check of this call.
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

-- A key somebody made permanent gets its expiry back. PEXPIRE has a flag for it since Redis 7 only.
local function repair(key, expires, now)
  if redis.call("PTTL", key) == -1 then redis.call("PEXPIRE", key, time_to_live(expires, now)) end
end

local function commit(charge, cost, now)
  local policy, index = charge.policy, charge.index
  local algorithm = policy.algorithm
  if algorithm.is_log then
    local ttl = time_to_live(algorithm.expires(policy, charge.settled), now)
    if charge.settled.last == nil or charge.settled.ahead then
      -- With XX this adds nothing, but a server without memory refuses it. After PEXPIRE it would refuse nothing.
      redis.call("ZADD", KEYS[index], "XX", 0, "")
      -- A user who may not set an expiry must not leave a key without one.
      redis.call("PEXPIRE", KEYS[index], ttl)
    end
    algorithm.charge(policy, KEYS[index], charge.settled, cost)
    redis.call("PEXPIRE", KEYS[index], ttl)
    return
  end
  -- The same key twice in one check: the second charge goes on top of the first.
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
      -- What is no string looks as if it were not there until it is written; by then others of this check have been.
      local unseen = #charges > 1 and charge.cost > 0 and operation ~= 1 and not values[index] and not writes[index]
      if unseen and redis.call("EXISTS", KEYS[index]) == 1 then bad[index] = true end
    end
    if charge.foreign and (charge.cost > 0 or algorithm == block) then foreign = true end
    if bad[index] then
      readable = false
    else
      -- Two charges on one key are one sum: each alone might fit where both do not.
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
        -- The same key twice: the second refund takes from what the first has left.
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
      -- A check looks at blocks with a cost of 0, and is the only one that could settle them.
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
    -- Not a string, so it looked as if it were not there.
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
