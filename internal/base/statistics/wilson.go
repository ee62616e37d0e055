// SPDX-License-Identifier: Apache-2.0

package statistics

import "math"

const z95 = 1.959964

// Wilson is the 95 % score interval of the proportion of k in n samples (Wilson 1927); 0 to 1 if n ≤ 0.
func Wilson(k, n float64) (low, high float64) {
	if n <= 0 {
		return 0, 1
	}
	const z2 = z95 * z95
	p := k / n
	scale := 1 + z2/n
	middle, half := (p+z2/(2*n))/scale, z95/scale*math.Sqrt(p*(1-p)/n+z2/(4*n*n))
	low, high = max(0, middle-half), min(1, middle+half)
	// Exactly 0 and 1 at the ends, despite rounding.
	if k <= 0 {
		low = 0
	}
	if k >= n {
		high = 1
	}
	return low, high
}
