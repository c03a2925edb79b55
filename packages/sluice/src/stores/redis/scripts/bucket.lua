-- Purpose: token bucket, leaky bucket and GCRA; the twin of algorithms/bucket.ts.
-- KEYS: a string per key. State: debt in ticks, time of the last update, ticks per unit and drained per µs when it was written.
-- Policy: x = ticks per unit (token), y = ticks drained per µs (leak).
-- Reply: the settled state.

local bucket = { format = "<dddd", cells = 4 }

function bucket.settle(policy, state, now)
  local debt, time, token, leak = state[1], state[2], state[3], state[4]
  local ahead = time - now > policy.window
  local foreign = ahead or (debt ~= 0 and (token ~= policy.x or leak ~= policy.y))
  local t = time
  if time <= now or ahead or debt == 0 then t = now end
  -- Beyond a full bucket, too: a check at another rate that is denied changes the terms of a debt, and must not lessen it.
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
