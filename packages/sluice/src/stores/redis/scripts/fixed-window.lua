-- Fixed window, aligned or from the first request. Decides as algorithms/fixed-window.ts does.
--
-- State, a string of packed doubles: start of the window; length of the window when it was written; count.
-- Policy: y = 1 when the window starts at the first request.
-- Returns the functions of the algorithm; main.lua describes them.

local function fixed_window()
  local function start_for(policy, time)
    if policy.y == 1 then return time end
    return floor_to(time, policy.window)
  end

  local function settle(policy, state, now)
    local start, length, count = state[1], state[2], state[3]
    local window = policy.window
    local stale = false
    if now >= start + length then count = 0 end
    if count == 0 then
      start = start_for(policy, now)
    elseif start - now > window then
      start, stale = start_for(policy, now), true
    elseif length ~= window then
      local t = max(start, now)
      if policy.y ~= 1 then
        start = floor_to(t, window)
      elseif t - start >= window then
        start = t
      end
      stale = true
    end
    state[1], state[2], state[3] = start, window, count
    return stale
  end

  local function fits(policy, state, cost)
    return cost <= policy.limit - state[3]
  end

  local function charge(policy, state, cost)
    state[3] = state[3] + cost
  end

  local function refund(policy, state, cost)
    state[3] = max(0, state[3] - cost)
  end

  local function used(policy, state)
    return state[3]
  end

  local function expires(policy, state)
    return state[1] + state[2]
  end

  return { cells = 3, settle = settle, fits = fits, charge = charge, refund = refund, used = used, expires = expires }
end
