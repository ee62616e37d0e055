// SPDX-License-Identifier: Apache-2.0

// Package torture holds targets that do what a look could disturb. Its tests let prywalk look at them at 1,000 Hz
// and then ask the targets themselves what they have noticed. The sources of the targets are in src: one program
// for each line of the list in docs/blocking-calls.md and of the tests' names. They count; nothing here asserts on
// time. TORTURE=long makes the tests longer. It has no other content.
package torture
