-- A blocked key, and the denials that may block it. Decides as algorithms/block.ts does.
--
-- State, a string of packed doubles: time until which the key is blocked; for how long it was blocked; time of the first counted
-- denial; denials; blocks so far.
-- Policy: the numbers of its penalty, or zeros. limit = so many denials, window = within this time, capacity = block the key for this
-- time; x = factor of each further block, y = the longest block, forget = the time after which the next block is a first one again.
-- The cost of a charge is the duration of the block in µs.
-- Returns the functions of the algorithm; main.lua describes them.

local function block()
  -- A clock that was set back must not make a block longer than it was set for.
  local function settle(policy, state, now)
    local length = state[2]
    local stale = state[1] - now > length
    if stale then state[1] = now + length end
    return stale
  end

  local function fits(policy, state, cost, now)
    return now >= state[1]
  end

  local function charge(policy, state, cost, now)
    if cost > 0 then state[1], state[2] = now + cost, cost end
  end

  local function refund()
  end

  local function used()
    return 0
  end

  local function expires(policy, state)
    local forgotten = state[5] > 0 and state[1] + policy.forget or state[1]
    local counted = state[4] > 0 and state[3] + policy.window or 0
    return max(forgotten, counted)
  end

  -- How long to block a key that was blocked so many times before.
  local function length_of(policy, blocks)
    local length = policy.capacity
    for i = 1, blocks do
      local longer = min(floor(length * policy.x), policy.y)
      if longer == length then break end
      length = longer
    end
    return length
  end

  -- Counts a denial of a limit, and blocks the key if it was one too many. A key that is blocked counts none. Returns how many
  -- denials began a block; nil if none began.
  local function penalize(policy, state, now)
    if state[1] > now then return end
    local since, denials = state[3], state[4]
    if denials == 0 or now - since >= policy.window then since, denials = now, 0 end
    if since - now > policy.window then since = now end
    denials = denials + 1
    local begun_by
    if denials >= policy.limit then
      local blocks = now - state[1] >= policy.forget and 0 or state[5]
      local length = length_of(policy, blocks)
      state[1], state[2], state[5] = now + length, length, blocks + 1
      begun_by = denials
      since, denials = 0, 0
    end
    state[3], state[4] = since, denials
    return begun_by
  end

  return {
    is_block = true, cells = 5,
    settle = settle, fits = fits, charge = charge, refund = refund, used = used, expires = expires, penalize = penalize,
  }
end
