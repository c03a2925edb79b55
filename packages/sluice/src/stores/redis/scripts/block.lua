-- Purpose: a blocked key; the twin of algorithms/block.ts.
-- KEYS: a string per key. State: blocked until, for how long it was set.
-- Reply: the state.

local block = { format = "<dd", cells = 2 }

-- A clock that was set back must not make a block longer than it was set for.
function block.settle(policy, state, now)
  local until_then, length = state[1], state[2]
  if until_then - now > length then return { now + length, length }, true end
  return { until_then, length }, false
end

function block.fits(policy, state, cost, now)
  return now >= state[1]
end

-- The cost is the duration. A check charges 0, which changes nothing.
function block.charge(policy, state, cost, now)
  if cost > 0 then state[1], state[2] = now + cost, cost end
end

function block.used()
  return 0
end

function block.refund()
end

function block.expires(policy, state)
  return state[1]
end
