-- Sliding window counter with one or more buckets. Decides as algorithms/sliding-window-counter.ts does.
--
-- State, a string of packed doubles: start of the newest bucket; length of a bucket when it was written; the counts of the
--   buckets, newest first, one more than the policy has buckets.
-- Policy: x = length of a bucket in µs, y = number of buckets.
-- Returns the functions of the algorithm; main.lua describes them.

local function sliding_window_counter()
  -- Units in the window that ends at `t`, of a state with buckets of length `size`. `last` is the place of the oldest count.
  local function used_at(last, size, state, t)
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

  local function time_of(policy, start, now)
    if start <= now or start - now > policy.window then return now end
    return start
  end

  local function is_unused(last, state)
    for i = 0, last do
      if state[3 + i] ~= 0 then return false end
    end
    return true
  end

  local function settle(policy, state, now)
    local size, last = policy.x, policy.y
    local start, written = state[1], state[2]
    local ahead = start - now > policy.window
    local unused = start > now and is_unused(last, state)
    if written ~= size or ahead or unused then
      local t = now
      if not unused then t = time_of(policy, start, now) end
      local used = 0
      if written ~= 0 then used = used_at(last, written, state, t) end
      state[1], state[2], state[3] = floor_to(t, size), size, used
      for i = 1, last do state[3 + i] = 0 end
      return ahead or (written ~= size and written ~= 0)
    end
    if now >= start + size then
      local new_start = floor_to(now, size)
      local steps = min((new_start - start) / size, last + 1)
      state[1] = new_start
      for i = last, steps, -1 do state[3 + i] = state[3 + i - steps] end
      for i = 0, steps - 1 do state[3 + i] = 0 end
    end
    return false
  end

  local function used(policy, state, now)
    return used_at(policy.y, policy.x, state, time_of(policy, state[1], now))
  end

  local function fits(policy, state, cost, now)
    return cost <= policy.limit - used(policy, state, now)
  end

  local function room(policy, state, now)
    return policy.limit - used(policy, state, now)
  end

  local function charge(policy, state, cost)
    state[3] = state[3] + cost
  end

  local function refund(policy, state, cost, charged_at)
    local first, last = 0, policy.y
    if charged_at >= 0 then
      first = (state[1] - floor_to(charged_at, policy.x)) / policy.x
      if first < 0 then return end
      last = min(last, first)
    end
    for i = 3 + first, 3 + last do
      local taken = min(state[i], cost)
      state[i] = state[i] - taken
      cost = cost - taken
    end
  end

  local function expires(policy, state)
    return state[1] + (policy.y + 1) * state[2]
  end

  return { settle = settle, fits = fits, room = room, charge = charge, refund = refund, used = used, expires = expires }
end
