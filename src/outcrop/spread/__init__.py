"""Many machines prepare files at once: `preparing.Prepare` over a Ray cluster. On the way of a file:

over.py     this process: starts a driver, hands it the files, yields what comes back
driver.py   a process of its own that talks to Ray, which never enters the caller's
filling.py  the files as a Ray Dataset
stages.py   what Ray's workers are given to do
attempts.py which of it they have tried too often
deliver.py  how they do it, by the functions of `preparing.py`
order.py    what travels between all of these
"""
