// SPDX-License-Identifier: Apache-2.0

package testtargets

// TB is what [Run] needs of testing.TB.
type TB interface {
	Helper()
	Fatal(args ...any)
	Cleanup(f func())
}

// Run starts a target and stops it at the test's end.
func Run(tb TB, name string, o Options) *Target {
	tb.Helper()
	t, err := Start(name, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(t.Stop)
	return t
}
