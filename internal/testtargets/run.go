// SPDX-License-Identifier: Apache-2.0

package testtargets

// TB is what [Run] needs of testing.TB.
type TB interface {
	Skipper
	Fatal(args ...any)
	Cleanup(f func())
}

// Run starts a target and stops it at the test's end. It skips the test where the target's program is not installed.
func Run(tb TB, name string, o Options) *Target {
	tb.Helper()
	t, err := Start(name, o)
	if err != nil {
		skipMissing(tb, err)
		tb.Fatal(err)
	}
	tb.Cleanup(t.Stop)
	return t
}
