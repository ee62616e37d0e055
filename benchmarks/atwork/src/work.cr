# Text, numbers, objects, fibers and regular expressions, for ever.
require "json"
require "digest/sha256"

class Node
  def initialize(@key : Int32)
    @left = nil.as(Node?)
    @right = nil.as(Node?)
  end

  def insert(key : Int32) : Nil
    child = key < @key ? @left : @right
    if child
      child.insert(key)
    elsif key < @key
      @left = Node.new(key)
    else
      @right = Node.new(key)
    end
  end

  def sum : Int64
    (@left.try(&.sum) || 0_i64) + @key + (@right.try(&.sum) || 0_i64)
  end
end

def numbers(n : Int32) : Int32
  n < 2 ? n : numbers(n - 1) + numbers(n - 2)
end

def words : Int32
  order = (0...2000).map { |i| "#{(i * 7919 % 10007).to_s(16)}-#{i}" }.sort_by! { |w| {w[-1], w} }
  found = order.count { |w| w =~ /(a+|b)+.*9/ }
  found + Array(String).from_json(order.to_json).size + Digest::SHA256.digest(order.join)[0]
end

def piped(n : Int32) : Int64
  channel = Channel(Int32).new
  spawn { n.times { |i| channel.send(numbers(i % 12)) } }
  (0...n).sum(0_i64) { channel.receive }
end

loop do
  root = Node.new(5003)
  500.times { |i| root.insert(i * 7919 % 10007) }
  root.sum
  words
  numbers(24)
  piped(200)
end

# SPDX-License-Identifier: Apache-2.0
