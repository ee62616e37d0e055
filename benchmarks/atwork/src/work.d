// Recursion, objects, sorting, maps, regular expressions, big numbers, hashes, exceptions and fibers, for ever.
import core.thread : Fiber;
import std.algorithm : map, sort;
import std.array : array, join;
import std.bigint : BigInt, toDecimalString;
import std.conv : to;
import std.digest.sha : sha256Of;
import std.range : iota, repeat;
import std.regex : matchFirst, regex;

ulong fib(ulong n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

class Tree
{
	Tree left, right;
	int depth;
	this(int d)
	{
		depth = d;
		if (d > 0)
		{
			left = new Tree(d - 1);
			right = new Tree(d - 1);
		}
	}

	int sum() { return depth + (left ? left.sum + right.sum : 0); }
}

void main()
{
	auto form = regex(`(a+|b)+c[0-9]*`);
	for (ulong sink;;)
	{
		auto words = iota(3000).map!(i => to!string(i * 7919 % 1009)).array;
		sort(words);
		int[string] counts;
		foreach (w; words)
			counts[w]++;
		sink += new Tree(11).sum + sha256Of("hello".repeat(100).join)[0];
		sink += "aaabbbabc123".matchFirst(form).hit.length;
		BigInt product = 1;
		foreach (i; 1 .. 120)
			product *= i;
		sink += toDecimalString(product).length;
		auto fiber = new Fiber({
			foreach (i; 0 .. 20)
			{
				fib(12);
				Fiber.yield();
			}
		});
		while (fiber.state != Fiber.State.TERM)
			fiber.call();
		try
		{
			if (counts.length > 10)
				throw new Exception("many");
		}
		catch (Exception e)
			sink++;
		sink += fib(18);
	}
}

// SPDX-License-Identifier: Apache-2.0
