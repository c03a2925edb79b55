-- Purpose: token bucket, leaky bucket and GCRA; the twin of algorithms/bucket.ts.
-- KEYS: a string per key. State: debt in ticks, time of the last update, ticks per unit when it was written.
-- Policy: x = ticks per unit (token), y = ticks drained per µs (leak).
-- Reply: the settled state.

local bucket = { format = "<ddd", cells = 3 }

function bucket.settle(policy, state, now)
  local time = state[2]
  local foreign = time - now > policy.window
  local t = time
  local debt = state[1]
  if time <= now or foreign or debt == 0 then t = now end
  if debt ~= 0 then
    local full = policy.capacity * policy.x
    if state[3] ~= policy.x then
      if debt >= policy.capacity * state[3] then debt = full else debt = mul_div_ceil(debt, policy.x, state[3]) end
    end
    if debt > full then debt = full end
    local elapsed = t - time
    if elapsed > 0 then
      local drained = elapsed * policy.y
      if drained >= debt then debt = 0 else debt = debt - drained end
    end
  end
  return { debt, t, policy.x }, foreign
end

function bucket.fits(policy, state, cost)
  return cost <= policy.capacity and cost * policy.x <= policy.capacity * policy.x - state[1]
end

function bucket.charge(policy, state, cost)
  state[1] = state[1] + cost * policy.x
end

function bucket.used(policy, state)
  return state[1]
end

function bucket.refund(policy, state, cost)
  state[1] = max(0, state[1] - cost * policy.x)
end

function bucket.expires(policy, state)
  return state[2] + ceil(min(state[1], policy.capacity * policy.x) / policy.y)
end
