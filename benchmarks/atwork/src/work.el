;; Text, regular expressions, sorting, highlighting and the byte compiler, for ever.  -*- lexical-binding: t -*-
(require 'json)
(require 'cc-mode)

(defun work-numbers (n)
  (if (< n 2) n (+ (work-numbers (- n 1)) (work-numbers (- n 2)))))

(defun work-words ()
  (let ((seen (make-hash-table :test 'equal)) words)
    (dotimes (i 2000)
      (puthash (format "%x-%d" (% (* i 7919) 10007) i) i seen))
    (maphash (lambda (w _) (push w words)) seen)
    (setq words (sort words (lambda (a b) (string< (substring a -1) (substring b -1)))))
    (length (json-read-from-string (json-encode (vconcat words))))))

(defun work-text ()
  (with-temp-buffer
    (dotimes (i 60)
      (insert (format "static int f%d(int a, char *b) { return a < %d ? b[a] : f%d(a - 1, \"%x\"); }\n" i i i i)))
    (c-mode)
    (font-lock-ensure)
    (indent-region (point-min) (point-max))
    (goto-char (point-min))
    (while (re-search-forward "f\\([0-9]+\\)(\\(.*?\\))" nil t)
      (replace-match "g\\1[\\2]"))
    (buffer-string)))

(setq message-log-max nil)
(while t
  (work-words)
  (work-text)
  (work-numbers 18)
  (funcall (byte-compile (lambda () (let ((s 0)) (dotimes (i 3000) (setq s (+ s (* i i)))) s)))))

;; SPDX-License-Identifier: Apache-2.0
