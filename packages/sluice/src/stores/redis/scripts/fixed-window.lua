-- Fixed window: aligned, from the first request, or of a calendar. Decides as algorithms/fixed-window.ts does.
--
-- State, a string of packed doubles: start of the window; length of the window when it was written; count.
-- Policy: y = 1 when the window starts at the first request, y = 2 for a calendar. The caller knows the calendar: it sends the
-- boundaries around its own time, and x is their number. Beyond them, windows have their usual length.
-- Returns the functions of the algorithm; main.lua describes them.

local function fixed_window()
  -- Start and length of the window of a calendar that contains a time.
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

  -- Start and length of the window that contains a time.
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
