# frozen_string_literal: true

# A shop on Async's HTTP server, as in Falcon, whose requests wait in known ways: shop.rb UPSTREAM. Its first line is its
# address. /account has the requests by path, /stacks the labels of each fiber's frames, without the one that asks.
require 'json'
require 'async'
require 'async/semaphore'
require 'async/http/server'
require 'async/http/client'
require 'async/http/endpoint'
require 'socket'

STOCK = Async::Semaphore.new(1)
INSIDE = Hash.new(0)
BANK = Async::HTTP::Client.new(Async::HTTP::Endpoint.parse("http://#{ARGV[0]}"))

def ask
  BANK.get('/price').read
end

def pay
  STOCK.acquire do
    INSIDE['/pay'] += 1
    ask
  end
end

def order
  STOCK.acquire { 'ordered' }
end

def price = ask

def report
  Async::Task.current.sleep(3600)
  'reported'
end

def stacks
  others = ObjectSpace.each_object(Fiber).select { |f| f.alive? && f != Fiber.current }
  others.map { |f| (f.backtrace_locations || []).map(&:label) }
end

def answer(path)
  return JSON.dump(INSIDE) if path == '/account'
  return JSON.dump(stacks) if path == '/stacks'

  INSIDE[path] += 1 unless path == '/pay'
  send(path[1..])
end

port = TCPServer.open('127.0.0.1', 0) { |s| s.addr[1] }
endpoint = Async::HTTP::Endpoint.parse("http://127.0.0.1:#{port}")
Async do |task|
  server = Async::HTTP::Server.for(endpoint) do |request|
    Protocol::HTTP::Response[200, {}, [answer(request.path)]]
  end
  task.async { server.run }
  puts "127.0.0.1:#{port}"
  $stdout.flush
end
