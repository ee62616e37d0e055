// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"testing"

	"prywalk/internal/testtargets/statistics"
)

// AtMost is a verdict of a statistical test: of n independent draws, such as moments at which a thread is stopped, at
// most a share may lack something. A test that calls it for so many comparisons fails by chance, if the share holds in
// each, in at most one of 10⁹ runs ([statistics.ErrorRate], divided among the comparisons).
func AtMost(t testing.TB, what string, lacking, n int, share float64, comparisons int) {
	t.Helper()
	_, most := statistics.BinomialRange(n, share, statistics.ErrorRate/float64(comparisons))
	if lacking > most {
		t.Errorf("%d of %d %s, more than %d: the share is above %.3g", lacking, n, what, most, share)
	}
}
