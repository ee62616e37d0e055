// SPDX-License-Identifier: Apache-2.0

package stats

import "math"

// StudentP is the probability that Student's t with df degrees of freedom is at least as far from 0 as t: the
// regularised incomplete beta function I_x(df/2, 1/2) at x = df/(df+t²) (Abramowitz and Stegun 26.7.1); 1 for df ≤ 0 or
// a t that is not a number.
func StudentP(t, df float64) float64 {
	if df <= 0 || math.IsNaN(t) {
		return 1
	}
	if math.IsInf(t, 0) {
		return 0
	}
	return incompleteBeta(df/2, 0.5, df/(df+t*t))
}

// StudentQuantile is the t with two-sided probability p, 0 < p < 1.
func StudentQuantile(p, df float64) float64 {
	low, high := 0.0, 1.0
	for StudentP(high, df) > p && high < 1e9 {
		high *= 2
	}
	for range 100 {
		mid := (low + high) / 2
		if StudentP(mid, df) > p {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

func incompleteBeta(a, b, x float64) float64 {
	switch {
	case x <= 0:
		return 0
	case x >= 1:
		return 1
	case x > (a+1)/(a+b+2): // the fraction of the complement converges faster
		return 1 - incompleteBeta(b, a, 1-x)
	}
	ga, _ := math.Lgamma(a)
	gb, _ := math.Lgamma(b)
	gab, _ := math.Lgamma(a + b)
	front := math.Exp(gab - ga - gb + a*math.Log(x) + b*math.Log1p(-x))
	return min(1, front/(a*betaFraction(a, b, x)))
}

// betaFraction is 1 + d₁/(1 + d₂/(1 + …)), from its far end: below the mean of the distribution some tens of terms
// suffice.
func betaFraction(a, b, x float64) float64 {
	f := 1.0
	for j := 400; j >= 1; j-- {
		m := float64(j / 2)
		d := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		if j%2 == 1 {
			d = -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		}
		f = 1 + d/f
	}
	return f
}
