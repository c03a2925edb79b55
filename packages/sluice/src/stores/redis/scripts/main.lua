-- Runs a list of checks. A check is a list of charges: the script decides all of them, then charges all of them or none.
-- Checks run in order, and a later check sees what an earlier one charged.
--
-- KEYS: every key that the checks touch, once each.
-- ARGV[1], a JSON array of numbers:
--   1, 2      how much longer than needed a key is kept, and the shortest time it is kept, in ms
--   3         how many policies follow, or 0 for the compact form
--   policies  of each: algorithm, limit, window in µs, capacity, x, y. The algorithm is 1 bucket, 2 fixed window, 3 sliding window
--             counter, 4 sliding window log, 5 block or 6 concurrency. The file of the algorithm says what x and y are. After a
--             fixed window with y = 2 follow x boundaries in µs, after a block follows one more number.
--   checks    of each: operation, time in µs, how many charges follow; then of each charge: index into KEYS, index of the policy,
--             cost, and for concurrency the id of the hold as a string, which is empty for a refund without one. A negative cost
--             stands for 0 on a block that counts the denials of a limit: -1 for the first charge of the check, -2 for the
--             second. The operation is 0 check, 1 decide (charges nothing), 2 charge without deciding, 3 refund, 4 release holds,
--             5 extend holds or 6 settle. A negative time stands for the server's clock. A charge of 3 and 6 has one more number
--             after its cost: when it was charged, in µs, or -1 if that is unknown. In 6 that is a refund too, or of concurrency a
--             release; -2 charges the cost, -3 charges as much of it as fits, and -4 is a release without which nothing is settled.
-- The compact form has one time, one policy and only checks of operation 0 with one charge:
--   4         time in µs
--   5 to 10   the policy
--   order     of each check: index into KEYS, cost. Without it every key is checked once, at cost 1.
-- Reply: one string of packed doubles. It starts with -1; compact.lua describes the other reply. Then for each check:
--   time in µs
--   result: 1 allowed, 0 denied, 2 denied by `decide` on a stale state that a check would have rewritten, -1 when a key holds
--     something that Sluice did not write. Of 4 and 5: 1 if no hold had ended, else 0. Of 6: 1, or 0 if nothing was settled
--   unless the result is -1, for each charge the numbers of the state that it was decided on. If the check began a block by a
--     penalty, the third number of its state is minus the denials that began it
--
-- An algorithm is a table of these functions. `state` is a list of numbers; sliding window log and concurrency have their own.
--   settle(policy, state, now)        brings the state to `now` in place; true when it was stale: written by a clock more than
--                                     a window ahead, or under another policy
--   fits(policy, state, cost, now)    whether the cost is allowed
--   room(policy, state, now)          the largest cost that is allowed; negative if more is charged
--   charge(policy, state, cost, now)  adds the cost without asking; cost 0 only rewrites a stale state
--   refund(policy, state, cost, charged_at)  takes back at most what is charged; with charged_at ≥ 0, only what still counts of
--                                     the units charged then
--   used(policy, state, now)          0 when there is nothing to take back
--   expires(policy, state)            time at which the state is as good as none

local CHECK, DECIDE, CHARGE, REFUND, RELEASE, EXTEND, SETTLE = 0, 1, 2, 3, 4, 5, 6
-- What stands in the place of a time in a settle.
local ADD, FILL, CLAIM = -2, -3, -4
-- Functions that define an algorithm: a script runs from its top at every call, and most calls need one algorithm only.
local algorithms = { bucket, fixed_window, sliding_window_counter, sliding_window_log, block, concurrency }

-- The policy whose numbers start at a place of the message, and the place after it.
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

-- A state as a list of numbers; zeros for a key that does not exist. Nil when the value cannot be a state of this policy.
local function parse_state(value, policy)
  local cells, state = policy.cells, {}
  if not value then
    for i = 1, cells do state[i] = 0 end
    return state
  end
  if #value ~= cells * 8 then return nil end
  state = { read(policy.format, value) }
  -- Bytes of somebody else may have the right length. NaN would end in an error for every check of this call.
  for i = 1, cells do
    local cell = state[i]
    if not (cell >= 0 and cell < math.huge) then return nil end
  end
  return state
end

-- By index of the key: its state, the policy and the time of its last change, and whether Sluice cannot read it.
local states, changed_by, changed_at, is_unreadable = {}, {}, {}, {}

-- A copy of the state of a key as it is at `now`, and whether the state is stale. Deciding must not change the state itself.
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

-- The charges of the check at hand, by their place in it.
local index_of, policy_of, cost_of, hold_of, settled, is_stale, is_repeated = {}, {}, {}, {}, {}, {}, {}
local charged_at = {}
-- The charge whose denials a block counts; whether a charge is denied; where its state begins in the reply.
local penalized_of, is_denied, reply_at = {}, {}, {}
local reply, length = { -1 }, 1

-- Several charges on one key are decided as their sum: each alone might fit where all of them do not.
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

-- Whether a key exists although MGET did not see it: then it holds no string, and SET would overwrite it.
local function is_other_type(index)
  return not values[index] and not changed_by[index] and call("EXISTS", KEYS[index]) == 1
end

-- Decides every charge and adds the states to the reply. Returns whether all charges are allowed, whether one met a stale
-- state, and whether every key could be read.
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
    -- XX adds nothing, but a server that is out of memory refuses it. It would refuse nothing after PEXPIRE.
    call("ZADD", KEYS[index], "XX", 0, "")
    -- A user who may not set an expiry must not leave a key without one.
    call("PEXPIRE", KEYS[index], ttl)
  end
  algorithm.charge(policy, KEYS[index], log, cost, now, hold)
  call("PEXPIRE", KEYS[index], ttl)
end

local function add(i, cost, now)
  local index, policy, state = index_of[i], policy_of[i], settled[i]
  local algorithm = policy.algorithm
  if algorithm.is_log then return add_to_log(index, policy, state, cost, now, hold_of[i]) end
  -- The second charge on a key goes on top of the first.
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
  -- The second refund on a key takes from what the first has left.
  if is_repeated[i] then state = settled_copy(index, policy, now) end
  if algorithm.used(policy, state, now) == 0 then return end
  algorithm.refund(policy, state, cost, charged_at[i])
  keep(index, policy, state, now)
end

-- Ends the holds of the charges, or extends all of them if none has ended. Returns whether none had ended.
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

-- The state of a charge after the charges before it on the same key.
local function renew_settled(i, now)
  if not is_repeated[i] then return end
  local policy, index = policy_of[i], index_of[i]
  if policy.algorithm.is_log then settled[i] = policy.algorithm.settle(policy, KEYS[index], now) end
  if not policy.algorithm.is_log then settled[i] = settled_copy(index, policy, now) end
end

-- Corrects every charge, or none if a hold to claim has ended. Returns whether it did.
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

-- Counts the denials of limits whose keys have a penalty. The reply then shows the block that it may have begun.
local function penalize(now, charge_count)
  for i = 1, charge_count do
    local limit = penalized_of[i]
    if limit and cost_of[limit] > 0 and is_denied[limit] and not is_denied[i] and not is_other_type(index_of[i]) then
      local policy, state = policy_of[i], settled[i]
      local begun_by = policy.algorithm.penalize(policy, state, now)
      keep(index_of[i], policy, state, now)
      for c = 1, policy.cells do reply[reply_at[i] + c] = state[c] end
      -- Only the check that began the block must say so. A later one in the same microsecond sees the same state.
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
      -- A check asks about a block with cost 0, and nothing else would ever rewrite a stale one.
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

-- Lua passes at most 8,000 values to a function.
local MAX_PACKED = 4000
local parts = {}
for first = 1, length, MAX_PACKED do
  local last = min(first + MAX_PACKED - 1, length)
  parts[#parts + 1] = write("<" .. string.rep("d", last - first + 1), unpack(reply, first, last))
end
return table.concat(parts)
