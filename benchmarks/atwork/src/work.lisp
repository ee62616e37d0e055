;;; Lists, tables, strings, closures, conditions and numbers, for ever.
(defun fib (n) (declare (fixnum n)) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))

(defun words ()
  (let ((seen (make-hash-table :test 'equal)) (order '()))
    (dotimes (i 1000) (setf (gethash (format nil "~x-~d" (mod (* i 7919) 10007) i) seen) i))
    (maphash (lambda (k v) (declare (ignore v)) (push k order)) seen)
    (reduce #'+ (mapcar #'length (sort order #'string<)))))

(defun fails (n) (if (= n 0) (error "deep") (+ 1 (fails (- n 1)))))

(defun floats (n) (let ((x 1.5d0)) (dotimes (i n x) (setf x (+ (* x 0.9999d0) (sin x))))))

(defun work ()
  (let ((sink 0))
    (loop
      (setf sink (mod (+ sink (fib 20) (words) (expt 3 500) (handler-case (fails 20) (error () 1)) (floor (floats 5000))) 1000003)))))

(work)

;; SPDX-License-Identifier: Apache-2.0
