{-# LANGUAGE ForeignFunctionInterface #-}
-- What a Haskell program does: data, laziness, exceptions, calls of C, callbacks from C, garbage collection.
module Main where

import Control.Exception
import Control.Monad
import qualified Data.Map.Strict as M
import Foreign
import Foreign.C.Types
import System.Mem

foreign import ccall unsafe "oracle_mark" begin :: IO ()
foreign import ccall unsafe "math.h sin" cSin :: CDouble -> CDouble

type Compare = Ptr Int64 -> Ptr Int64 -> IO CInt

foreign import ccall "wrapper" asCompare :: Compare -> IO (FunPtr Compare)
foreign import ccall safe "stdlib.h qsort" qsort :: Ptr Int64 -> CSize -> CSize -> FunPtr Compare -> IO ()

fails :: Int -> IO Int
fails 0 = throwIO (ErrorCall "deep")
fails n = (+ 1) <$> fails (n - 1)

sorted :: [Int64] -> IO [Int64]
sorted list = do
  by <- asCompare (\a b -> (\x y -> fromIntegral (fromEnum (compare x y) - 1)) <$> peek a <*> peek b)
  out <- withArrayLen list $ \n p -> qsort p (fromIntegral n) 8 by >> peekArray n p
  freeHaskellFunPtr by
  return out

main :: IO ()
main = forM_ [1 :: Int ..] $ \i -> do
  begin
  let m = M.fromList [(show (k * 7919 `mod` 101), k) | k <- [1 .. 60 + i `mod` 3]]
      waves = sum [cSin (fromIntegral k) | k <- [1 .. 20 :: Int]]
  print (M.foldl' (+) 0 m, product [1 .. toInteger (40 + i `mod` 5)], waves)
  caught <- try (fails (10 + i `mod` 3)) :: IO (Either ErrorCall Int)
  list <- sorted [fromIntegral (k * 37 `mod` 11) | k <- [1 .. 8 + i `mod` 2]]
  when (i `mod` 8 == 0) performMinorGC
  print (either (const 0) id caught, list)
