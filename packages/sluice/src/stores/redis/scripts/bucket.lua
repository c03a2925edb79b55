-- Token bucket, leaky bucket and GCRA. Decides as algorithms/bucket.ts does.
--
-- State, a string of packed doubles: debt in ticks; time of the last update; and from the policy that charged it, the
--   capacity, ticks per unit and ticks that drain per µs. A debt beyond the capacity is an overdraft, and counts in full under
--   the same capacity.
-- Policy: x = ticks per unit (token), y = ticks that drain per µs (leak).
-- Returns the functions of the algorithm; main.lua describes them.

local function bucket()
  -- What counts of a debt: all of it under the capacity it was charged under, else at most a full bucket.
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
      -- A call at another rate that charges nothing rewrites the debt in its own ticks, and must not reduce it.
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

  -- What is left of the cost after some µs, if all that drained was of it.
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
