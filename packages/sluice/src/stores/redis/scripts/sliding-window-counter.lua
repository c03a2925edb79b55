-- Purpose: sliding window counter with 1 … N buckets; the twin of algorithms/sliding-window-counter.ts.
-- KEYS: a string per key. State: start of the newest bucket, bucket length when it was written, newest … oldest count.
-- Policy: x = bucket length, y = number of buckets.
-- Reply: the settled state.

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
