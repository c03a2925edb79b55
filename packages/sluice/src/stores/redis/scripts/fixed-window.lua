-- Purpose: fixed window, aligned or from the first request; the twin of algorithms/fixed-window.ts.
-- KEYS: a string per key. State: start of the window, its length when it was written, count.
-- Policy: y = 1 when the window starts at the first request.
-- Reply: the settled state.

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
