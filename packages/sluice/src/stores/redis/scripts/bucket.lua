-- Token bucket, leaky bucket and GCRA. Decides as algorithms/bucket.ts does.
--
-- State, a string of packed doubles: debt in ticks; time of the last update; and from the policy that wrote it, ticks per
--   unit and ticks that drain per µs.
-- Policy: x = ticks per unit (token), y = ticks that drain per µs (leak).
-- Returns the functions of the algorithm; main.lua describes them.

local function bucket()
  local function settle(policy, state, now)
    local debt, time, token, leak = state[1], state[2], state[3], state[4]
    local x, y = policy.x, policy.y
    local full = policy.capacity * x
    local ahead = time - now > policy.window
    local t = time
    if time <= now or ahead or debt == 0 then t = now end
    local other = debt ~= 0 and (token ~= x or leak ~= y)
    if other then
      if t > time then debt = max(debt - (t - time) * leak, 0) end
      if token ~= x then
        if debt / token * x >= MAX_EXACT then debt = MAX_EXACT else debt = mul_div_ceil(debt, x, token) end
      end
      -- A denied check at another rate rewrites the debt in its own ticks, and must not lessen it: keep what is beyond full.
      state.kept = debt
      if debt > full then debt = full end
    else
      if debt > full then debt = full end
      if t > time then
        debt = debt - (t - time) * y
        if debt < 0 then debt = 0 end
      end
    end
    state[1], state[2], state[3], state[4] = debt, t, x, y
    return ahead or other
  end

  local function fits(policy, state, cost)
    return cost <= policy.capacity and cost * policy.x <= policy.capacity * policy.x - state[1]
  end

  local function room(policy, state)
    return floor((policy.capacity * policy.x - state[1]) / policy.x)
  end

  local function charge(policy, state, cost)
    if state.kept then state[1], state.kept = state.kept, nil end
    state[1] = state[1] + cost * policy.x
  end

  -- What is left of the cost after some µs, if all that drained was of it.
  local function undrained(policy, cost, elapsed)
    if elapsed <= 0 then return cost end
    if elapsed / policy.x * policy.y >= cost then return 0 end
    return max(cost - mul_div_ceil(elapsed, policy.y, policy.x), 0)
  end

  local function refund(policy, state, cost, charged_at)
    if charged_at >= 0 then cost = undrained(policy, cost, state[2] - charged_at) end
    if state.kept then state[1], state.kept = state.kept, nil end
    state[1] = max(0, state[1] - cost * policy.x)
  end

  local function used(policy, state)
    return state[1]
  end

  local function expires(policy, state)
    return state[2] + ceil(min(state[1], policy.capacity * policy.x) / policy.y)
  end

  return { cells = 4, settle = settle, fits = fits, room = room, charge = charge, refund = refund, used = used, expires = expires }
end
