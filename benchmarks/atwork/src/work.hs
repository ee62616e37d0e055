-- Maps, strings, lazy lists, exceptions, big integers and mutable variables, for ever.
module Main where

import Control.Exception
import Control.Monad
import Data.Char (ord)
import Data.IORef
import Data.List (foldl', sortBy)
import qualified Data.Map.Strict as M
import Numeric (showHex)

fib :: Int -> Int
fib n = if n < 2 then n else fib (n - 1) + fib (n - 2)

keys :: Int -> Int
keys n = sum (map length (sortBy (\a b -> compare (last a, a) (last b, b)) (M.keys seen)))
  where
    seen = foldl' (\m i -> M.insertWith (++) (showHex (i * 7919 `mod` 10007) "-" ++ show i) [i] m) M.empty [1 .. n]

primes :: [Int]
primes = sieve [2 ..] where sieve (p : more) = p : sieve [x | x <- more, x `mod` p /= 0]
                            sieve [] = []

deep :: Int -> IO Int
deep 0 = throwIO (ErrorCall "deep")
deep n = (+ 1) <$> deep (n - 1)

floats :: Int -> Double
floats n = go n 1.5 where go 0 x = x
                          go i x = go (i - 1) (x * 0.9999 + sin x)

step :: Int -> IO Int
step i = do
  caught <- try (deep 50) :: IO (Either ErrorCall Int)
  let big = product [1 .. toInteger (300 + i `mod` 7)]
      letters = foldl' (\h c -> (h * 31 + ord c) `mod` 1000003) 7 (show big)
      prime = takeWhile (< 700 + i `mod` 5) primes
  return $! either (const 1) id caught + letters + length prime + fib (18 + i `mod` 3) + keys (800 + i `mod` 9)
    + truncate (floats (5000 + i `mod` 11))

main :: IO ()
main = do
  sink <- newIORef (0 :: Int)
  forM_ [1 ..] $ \i -> step i >>= \n -> modifyIORef' sink (\s -> (s + n) `mod` 1000003)

-- SPDX-License-Identifier: Apache-2.0
