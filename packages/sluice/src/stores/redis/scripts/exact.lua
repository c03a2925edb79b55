-- Whole-number arithmetic that never rounds: the same operations in the same order as in algorithms/exact.ts.
--
-- Uses no KEYS and no ARGV, and replies nothing: it defines functions for the parts of the script after it.

local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min

local MAX_EXACT = 9007199254740992
local SPLITTER = 134217729

local function product_error(a, b, product)
  local t = a * SPLITTER
  local a_high = t - (t - a)
  local a_low = a - a_high
  t = b * SPLITTER
  local b_high = t - (t - b)
  local b_low = b - b_high
  return a_low * b_low - (product - a_high * b_high - a_low * b_high - a_high * b_low)
end

local function difference_of_products(a, b, c, d)
  local ab = a * b
  local cd = c * d
  return ab - cd + (product_error(a, b, ab) - product_error(c, d, cd))
end

local function mul_div_floor(a, b, c)
  local product = a * b
  local quotient = floor(product / c)
  if product < MAX_EXACT then return quotient end
  local rest = difference_of_products(a, b, quotient, c)
  while rest < 0 do
    quotient = quotient - 1
    rest = rest + c
  end
  while rest >= c do
    quotient = quotient + 1
    rest = rest - c
  end
  return quotient
end

local function mul_div_ceil(a, b, c)
  local product = a * b
  if product < MAX_EXACT then return ceil(product / c) end
  local quotient = mul_div_floor(a, b, c)
  if difference_of_products(a, b, quotient, c) > 0 then return quotient + 1 end
  return quotient
end

local function floor_to(time, size)
  return floor(time / size) * size
end
