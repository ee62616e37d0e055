// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"testing"

	"prywalk/internal/testtargets/statistics"
)

// AtMost is the statistical part of a test that is exact otherwise: of n independent draws, such as moments at which a
// thread is stopped, at most a share may lack something. It fails by chance, if the share holds, in at most one of 10⁹
// runs ([statistics.ErrorRate]).
func AtMost(t testing.TB, what string, lacking, n int, share float64) {
	t.Helper()
	if _, most := statistics.BinomialRange(n, share, statistics.ErrorRate); lacking > most {
		t.Errorf("%d of %d %s, more than %d: the share is above %.3g", lacking, n, what, most, share)
	}
}
