;; Lists, strings, tables, closures and numbers, for ever. Guile and Chez run it.
(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))

(define (numbers n)
  (let loop ((i 0) (l '()))
    (if (= i n) l (loop (+ i 1) (cons (modulo (* i 7919) 10007) l)))))

(define (insert k t)
  (cond ((null? t) (list k '() '()))
        ((< k (car t)) (list (car t) (insert k (cadr t)) (caddr t)))
        (else (list (car t) (cadr t) (insert k (caddr t))))))

(define (total t)
  (if (null? t) 0 (+ (car t) (total (cadr t)) (total (caddr t)))))

(define (words l)
  (apply + (map (lambda (x) (string-length (string-append (number->string x) "-" (number->string (* x x))))) l)))

(define (floats n x) (if (= n 0) x (floats (- n 1) (+ (* x 0.9999) (sin x)))))

(define (work sink)
  (let* ((l (numbers 1000))
         (t (let loop ((l l) (t '())) (if (null? l) t (loop (cdr l) (insert (car l) t))))))
    (work (modulo (+ sink (fib 18) (total t) (words l) (expt 3 500) (inexact->exact (floor (floats 5000 1.5)))) 1000003))))

(work 0)

;; SPDX-License-Identifier: Apache-2.0
