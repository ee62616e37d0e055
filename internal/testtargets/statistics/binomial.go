// SPDX-License-Identifier: Apache-2.0

// Package statistics bounds what a statistical test may see by chance.
package statistics

import "math"

// ErrorRate is the largest probability with which one run of a statistical test fails by chance.
const ErrorRate = 1e-9

// BinomialRange is the range of successes in n independent trials of probability p outside of which each tail has a
// probability of at most errorRate/2 (exact tails, no normal approximation). A test that makes m comparisons passes
// ErrorRate/m. p is 0 to 1; n is at least 0.
func BinomialRange(n int, p, errorRate float64) (low, high int) {
	tail := errorRate / 2
	low, high = 0, n
	for sum := binomial(n, 0, p); sum <= tail && low < n; sum += binomial(n, low, p) {
		low++
	}
	for sum := binomial(n, n, p); sum <= tail && high > 0; sum += binomial(n, high, p) {
		high--
	}
	return low, high
}

// binomial is the probability of k successes.
func binomial(n, k int, p float64) float64 {
	if p <= 0 || p >= 1 { // log(0) below
		if p <= 0 && k == 0 || p >= 1 && k == n {
			return 1
		}
		return 0
	}
	return math.Exp(logChoose(n, k) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
}

func logChoose(n, k int) float64 {
	all, _ := math.Lgamma(float64(n) + 1)
	in, _ := math.Lgamma(float64(k) + 1)
	out, _ := math.Lgamma(float64(n-k) + 1)
	return all - in - out
}

// HoeffdingDistance bounds the mean of n independent values within a range of width 1: its distance from the expected
// value exceeds the bound with a probability of at most errorRate (Hoeffding 1963, theorem 2), for any distribution.
func HoeffdingDistance(n int, errorRate float64) float64 {
	if n <= 0 {
		return 1
	}
	return min(1, math.Sqrt(math.Log(2/errorRate)/(2*float64(n))))
}
