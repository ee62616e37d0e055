{-# LANGUAGE ForeignFunctionInterface #-}
-- Three loops that call a function of libm each: sin at level 0, tan below one callback from C, exp below two.
module Main where

import Control.Monad
import Foreign
import Foreign.C.Types
import System.IO

foreign import ccall unsafe "math.h sin" cSin :: CDouble -> CDouble
foreign import ccall unsafe "math.h tan" cTan :: CDouble -> CDouble
foreign import ccall unsafe "math.h exp" cExp :: CDouble -> CDouble

type Compare = Ptr Int64 -> Ptr Int64 -> IO CInt

foreign import ccall "wrapper" asCompare :: Compare -> IO (FunPtr Compare)
foreign import ccall safe "stdlib.h bsearch"
  search :: Ptr Int64 -> Ptr Int64 -> CSize -> CSize -> FunPtr Compare -> IO (Ptr Int64)

loop :: (CDouble -> CDouble) -> Int -> CDouble -> CDouble
loop _ 0 x = x
loop f n x = loop f (n - 1) (0.5 + 0.1 * f x)
{-# NOINLINE loop #-}

-- callback runs an action below a call from C, once.
callback :: IO CDouble -> IO ()
callback act = do
  compareBy <- asCompare (\_ _ -> act >>= \x -> return (if isNaN x then 1 else 0))
  alloca $ \p -> poke p 7 >> void (search p p 1 8 compareBy)
  freeHaskellFunPtr compareBy

main :: IO ()
main = do
  putStrLn "ready"
  hFlush stdout
  forM_ [1 :: Int ..] $ \i -> do
    let x = 0.5 + 1 / fromIntegral i
        run f = return $! loop f 20000 x
    _ <- run cSin
    callback (run cTan)
    callback (callback (run cExp) >> return 0)
