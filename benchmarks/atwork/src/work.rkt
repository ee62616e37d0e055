#lang racket/base
;; Lists, tables, strings, closures, exceptions, regular expressions and numbers, for ever.
(require racket/list racket/string racket/math)

(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))

(define (words)
  (define seen (make-hash))
  (for ([i 1000]) (hash-set! seen (format "~a-~a" (number->string (modulo (* i 7919) 10007) 16) i) i))
  (for/sum ([w (sort (hash-keys seen) string<?)])
    (string-length (if (regexp-match? #rx"(a+|b)+.*9" w) (string-replace w "0" "zero") w))))

(define (fails n) (if (= n 0) (error "deep") (+ 1 (fails (- n 1)))))

(define (floats n) (for/fold ([x 1.5]) ([i n]) (+ (* x 0.9999) (sin x))))

(let loop ([sink 0])
  (loop (modulo (+ sink (fib 20) (words) (expt 3 500) (with-handlers ([exn:fail? (lambda (e) 1)]) (fails 20))
                   (exact-floor (floats 5000)))
                1000003)))

;; SPDX-License-Identifier: Apache-2.0
