"""Files prepared by a Ray cluster (`write/prepare.py` has the contract).

On the way of a file:

prepare.py   this process: starts a driver, hands it the files, yields what comes back
driver.py    a process of its own that talks to Ray, so that Ray never enters the caller's
dataset.py   the files as a Ray Dataset
stages.py    what Ray's workers do, by the functions of a run without a cluster
attempts.py  which batches they have tried too often
order.py     the messages between all of these
"""
