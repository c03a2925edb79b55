-- A blocked key. Decides as algorithms/block.ts does.
--
-- State, a string of packed doubles: time until which the key is blocked; for how long it was blocked.
-- Policy: nothing. The cost of a charge is the duration of the block in µs.
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
    return state[1]
  end

  return {
    is_block = true, cells = 2,
    settle = settle, fits = fits, charge = charge, refund = refund, used = used, expires = expires,
  }
end
