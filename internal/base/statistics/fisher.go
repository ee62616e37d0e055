// SPDX-License-Identifier: Apache-2.0

package statistics

// FisherTail is the probability, by chance, of counts that differ at least as much: twice the smaller tail of the
// second side's count, given the sum of both. odds is the ratio of the second side's odds of a sample to count to the
// first side's (Fisher's noncentral hypergeometric distribution; 1: his exact test). Counts need not be whole numbers:
// the distribution's points are then as far from whole ones. It takes a step for each point within eight standard
// deviations.
func FisherTail(counts, samples [2]float64, odds float64) float64 {
	sum, rest := counts[0]+counts[1], samples[0]-counts[0]-counts[1]
	// rise is P(x+1) ÷ P(x).
	rise := func(x float64) float64 { return odds * (samples[1] - x) * (sum - x) / ((x + 1) * (rest + x + 1)) }
	const negligible = 1e-15
	above, below := 0.0, 0.0 // in units of the probability of counts
	for x, p := counts[1], 1.0; x+1 <= min(sum, samples[1]); x++ {
		if p *= rise(x); !(p > negligible*above) {
			break
		}
		above += p
	}
	for x, p := counts[1]-1, 1.0; x >= max(0, -rest); x-- {
		if p /= rise(x); !(p > negligible*below) {
			break
		}
		below += p
	}
	return min(1, 2*(1+min(above, below))/(1+above+below))
}
